package self_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/claim/self"
)

// digitsOf lists where the digits of a JSON report's figures stand: of its
// numbers, and of its texts that are values and not keys.
func digitsOf(report []byte) (places []int) {
	for at := 0; at < len(report); at++ {
		switch c := report[at]; {
		case c == '"':
			end := textEnd(report, at)
			if !bytes.HasPrefix(report[end:], []byte(":")) {
				places = append(places, digitsWithin(report, at, end)...)
			}
			at = end - 1
		case c >= '0' && c <= '9':
			places = append(places, at)
		}
	}
	return places
}

// textEnd is the place behind the quote that ends a text.
func textEnd(report []byte, at int) int {
	for at++; report[at] != '"'; at++ {
		if report[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func digitsWithin(report []byte, from, to int) (places []int) {
	for at := from; at < to; at++ {
		switch c := report[at]; {
		case c == '\\' && report[at+1] == 'u':
			at += 5
		case c >= '0' && c <= '9':
			places = append(places, at)
		}
	}
	return places
}

// plant changes one digit.
func plant(report []byte, at int, digit byte) []byte {
	changed := bytes.Clone(report)
	changed[at] = digit
	return changed
}

func lineOf(report []byte, at int) int { return 1 + bytes.Count(report[:at], []byte("\n")) }

// found says whether an audit names the line of a planted error, or refuses the
// report.
func found(p self.Prepared, report []byte, at int) bool {
	a, err := p.Audit(report)
	if err != nil {
		return true // 012 is no number in JSON
	}
	return a.Raised() > 0
}

func TestEveryDigit(t *testing.T) {
	name := os.Getenv("DESIGN")
	if name == "" {
		t.Skip()
	}
	src, ok := designs()[name]
	if !ok {
		src = twoServers + "repeat: {blocks: 8}\n"
	}
	b := newBench(t, src)
	if m := mishaps()[name]; m != nil {
		m(b)
	}
	run := b.run()
	report := b.printed(run)
	p, err := self.Prepare(run, b.plan)
	if err != nil {
		t.Fatal(err)
	}
	places := digitsOf(report)
	step := 1
	fmt.Sscan(os.Getenv("STEP"), &step)
	missed := map[int]bool{}
	for i := 0; i < len(places); i += step {
		at := places[i]
		digit := '0' + (report[at]-'0'+byte(1+i%9))%10
		if !found(p, plant(report, at, digit), at) && !missed[lineOf(report, at)] {
			missed[lineOf(report, at)] = true
			lines := strings.Split(string(report), "\n")
			t.Errorf("line %d: %c for %c: %.200s", lineOf(report, at), digit, report[at], lines[lineOf(report, at)-1])
		}
	}
	t.Log(len(places))
}

func TestPlantedErrorsAreFound(t *testing.T) {
	b := newBench(t, designs()["three factors"])
	run := b.run()
	report := b.printed(run)
	p, err := self.Prepare(run, b.plan)
	if err != nil {
		t.Fatal(err)
	}
	places := digitsOf(report)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.SampledFrom(places).Draw(rt, "place")
		digit := '0' + (report[at]-'0'+rapid.ByteRange(1, 9).Draw(rt, "more"))%10
		if !found(p, plant(report, at, digit), at) {
			rt.Fatalf("line %d: %c for %c is not found", lineOf(report, at), digit, report[at])
		}
	})
}
