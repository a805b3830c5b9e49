package population

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sharedText spares the tests from making it again and again.
var (
	sharedText = new(Text)
	kept       = sharedText.get()
)

func TestMain(m *testing.M) {
	code := m.Run()
	runtime.KeepAlive(kept)
	os.Exit(code)
}

// write returns a range of a table as the specification's generator writes it.
func write(s *Stream) []byte {
	l := Lines{Separator: '|'}
	for s.Next(&l) {
	}
	return l.Buffer
}

// checksum is that of a whole table's file, and the file's rows.
func checksum(p *Population, t Table) (sum string, rows int64) {
	h := sha256.New()
	s := p.Stream(t, 1, p.Units(t))
	l := Lines{Separator: '|'}
	for s.Next(&l) {
		if len(l.Buffer) > 1<<16 {
			h.Write(l.Buffer)
			l.Buffer = l.Buffer[:0]
		}
	}
	h.Write(l.Buffer)
	return hex.EncodeToString(h.Sum(nil))[:16], l.Rows
}

// known are rows and the first half of the checksums of the files, as the
// specification's generator writes them (with two digits for quantities).
func known() map[float64]string {
	return map[float64]string{
		0.01: `
region 5 5a7c2fe9718db00f
nation 25 7d47bc9397da3310
supplier 100 b199bef335084067
part 2000 604232ee10e95dca
partsupp 8000 906f58419af6ad5d
customer 1500 22156f2770387f5a
orders 15000 a444603dfba6c47e
lineitem 60175 234f247a5776096d`,
		0.1: `
region 5 5a7c2fe9718db00f
nation 25 7d47bc9397da3310
supplier 1000 3a83adcdf515ca1b
part 20000 7beb0cf5013f9066
partsupp 80000 0a3026c320ddbdf6
customer 15000 16ece524c820347c
orders 150000 8a4d2e3be83b68e4
lineitem 600572 7495ad08f27ac452`,
		1: `
region 5 5a7c2fe9718db00f
nation 25 7d47bc9397da3310
supplier 10000 f5699b5df22724f4
part 200000 cecd01146ae002ae
partsupp 800000 3a68b7b7757cd3aa
customer 150000 a035a33a703d3a04
orders 1500000 3f111871419ea6f3
lineitem 6001215 26ff122c79bd2afc`,
	}
}

func TestTablesAreThoseOfTheSpecification(t *testing.T) {
	for scale, want := range known() {
		if scale == 1 && testing.Short() {
			continue
		}
		p, err := New(scale, sharedText)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, table := range Tables() {
			sum, rows := checksum(p, table)
			if rows != p.Rows(table) {
				t.Errorf("scale factor %g: %s has %d rows, Rows says %d", scale, table, rows, p.Rows(table))
			}
			fmt.Fprintf(&got, "%s %d %s\n", table, rows, sum)
		}
		if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
			t.Errorf("scale factor %g:\n%s\nwant\n%s", scale, got.String(), want)
		}
	}
}

// TestRangesJoin: any cut of a table gives the same rows.
func TestRangesJoin(t *testing.T) {
	p, err := New(0.01, sharedText)
	if err != nil {
		t.Fatal(err)
	}
	whole := map[Table][]byte{}
	for _, table := range Tables() {
		whole[table] = write(p.Stream(table, 1, p.Units(table)))
	}
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(Tables()).Draw(t, "table")
		units := p.Units(table)
		first := rapid.Int64Range(1, units).Draw(t, "first")
		count := rapid.Int64Range(0, min(200, units-first+1)).Draw(t, "count")
		got := write(p.Stream(table, first, count))
		if !bytes.Contains(whole[table], got) {
			t.Fatalf("%s: units %d to %d are not those of the whole table", table, first, first+count)
		}
		lines := Lines{Separator: '|'}
		s := p.Stream(table, 1, first-1)
		for s.Next(&lines) {
		}
		if table == Region || table == Nation || table == Supplier {
			if !bytes.HasPrefix(whole[table][len(lines.Buffer):], got) {
				t.Fatalf("%s: units from %d stand elsewhere", table, first)
			}
		}
	})
}

// TestCheckpointsLieOnTheSequence writes the text without them.
func TestCheckpointsLieOnTheSequence(t *testing.T) {
	w := writer{grammar: newGrammar(), text: make([]byte, textSize+maxSentence), seq: sequence{state: seedText.state}}
	next := 0
	for w.at < textSize {
		if next < len(checkpoints) && w.at == checkpoints[next].at {
			if w.seq.state != checkpoints[next].state {
				t.Fatalf("checkpoint %d: state %d, want %d", next, checkpoints[next].state, w.seq.state)
			}
			next++
		}
		from := w.at
		if w.sentence(); w.at-from > maxSentence {
			t.Fatalf("a sentence has %d bytes", w.at-from)
		}
	}
	if next != len(checkpoints) {
		t.Errorf("checkpoint %d is not the beginning of a sentence", next)
	}
	if !bytes.Equal(makeText(), w.text[:textSize]) {
		t.Error("written in stretches, the text differs")
	}
}

func TestScaleFactors(t *testing.T) {
	for scale, ok := range map[float64]bool{0.008: true, 0.01: true, 0.25: true, 0.001: false, 0.002: false, 0.012: false, 1: true, 30: true, 10_000: true,
		0: false, -1: false, 1.5: false, 0.0015: false, 30_000: false} {
		p, err := New(scale, sharedText)
		if (err == nil) != ok {
			t.Errorf("scale factor %g: %v", scale, err)
		}
		if !ok {
			continue
		}
		if p.Scale() != scale {
			t.Errorf("scale factor %g became %g", scale, p.Scale())
		}
		for part := int64(1); part <= min(p.part, 10_000); part++ {
			for n := range int64(partSuppEach) {
				for m := range n {
					if p.supplierOf(part, n) == p.supplierOf(part, m) {
						t.Fatalf("scale factor %g: part %d has supplier %d twice", scale, part, p.supplierOf(part, n))
					}
				}
			}
		}
	}
}

func TestRefreshesDoNotMeet(t *testing.T) {
	p, err := New(0.01, sharedText)
	if err != nil {
		t.Fatal(err)
	}
	inserted, deleted := map[int64]bool{}, map[int64]bool{}
	stock := map[string]bool{}
	for line := range strings.Lines(string(write(p.Stream(Orders, 1, p.orders)))) {
		key, _, _ := strings.Cut(line, "|")
		stock[key] = true
	}
	for n := 1; n <= 40; n++ {
		r := p.Refresh(n)
		rows := string(write(r.Insert(Orders, 1, r.Orders())))
		if got := strings.Count(rows, "\n"); got != 15 {
			t.Fatalf("refresh %d has %d orders, want 15", n, got)
		}
		i := int64(0)
		for line := range strings.Lines(rows) {
			i++
			key, _, _ := strings.Cut(line, "|")
			if key != fmt.Sprint(r.InsertedKey(i)) || inserted[r.InsertedKey(i)] || stock[key] {
				t.Fatalf("refresh %d inserts order %s, which is there, or InsertedKey is %d", n, key, r.InsertedKey(i))
			}
			inserted[r.InsertedKey(i)] = true
			if d := r.DeletedKey(i); deleted[d] || !stock[fmt.Sprint(d)] {
				t.Fatalf("refresh %d deletes order %d, which is not there", n, d)
			}
			deleted[r.DeletedKey(i)] = true
		}
		items := string(write(r.Insert(LineItem, 1, r.Orders())))
		if n := strings.Count(items, "\n"); n < 15 || n > 15*maxLines {
			t.Errorf("refresh %d has %d line items", n, n)
		}
	}
}

func TestDecimals(t *testing.T) {
	for n, want := range map[int64]string{0: "0.00", 5: "0.05", -5: "-0.05", 123456: "1234.56", -100: "-1.00"} {
		if got := string(AppendDecimal(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestRefreshesAreThoseOfTheSpecification compares with the update sets that the
// specification's generator writes at scale factor 1.
func TestRefreshesAreThoseOfTheSpecification(t *testing.T) {
	const want = `
1 orders 1500 bcad924207971b3f
1 lineitem 5822 6036f8bf37bd2d1d
1 delete 1500 d8d9f9ef30b5bbed
2 orders 1500 7000ef64c0c0c0a0
2 lineitem 6076 29433d752a2f4b66
2 delete 1500 3da2f4b5bbc14d5f
3 orders 1500 2a68f3d20bdfb945
3 lineitem 5831 ec4ff6f420546103
3 delete 1500 a4892a5d143b553d
`
	p, err := New(1, sharedText)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for n := 1; n <= 3; n++ {
		r := p.Refresh(n)
		var deleted []byte
		for i := range r.Orders() {
			deleted = fmt.Appendf(deleted, "%d\n", r.DeletedKey(i+1))
		}
		for name, b := range map[string][]byte{"orders": write(r.Insert(Orders, 1, r.Orders())), "lineitem": write(r.Insert(LineItem, 1, r.Orders())), "delete": deleted} {
			line := fmt.Sprintf("%d %s %d %.8x\n", n, name, bytes.Count(b, []byte("\n")), sha256.Sum256(b))
			if !strings.Contains(want, line) {
				t.Errorf("found %s", line)
			}
			got.WriteString(line)
		}
	}
	if strings.Count(got.String(), "\n") != strings.Count(want, "\n")-1 {
		t.Errorf("found %s", got.String())
	}
}
