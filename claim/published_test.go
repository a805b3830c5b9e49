package claim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// objection is what an audit of a published report must say of one claim.
type objection struct {
	verdict Verdict
	says    string // in the text, a cause or a row
}

// objections lists, for each published report, every claim that does not
// stand. A report that is not listed has none.
func objections() map[string]map[string]objection {
	return map[string]map[string]objection{
		"a1-redis-three-generations": {
			"r740-servers":             {OnlyCut, "1147.89 are needed, so 1148"},
			"r750-servers":             {OnlyCut, "653.07 are needed, so 654"},
			"r740-times":               {OnlyCut, "2.2958"},
			"r740-more":                {OnlyCut, "129.57"},
			"r740-per-dollar":          {OnlyCut, "166.16"},
			"r750-more-conclusion":     {Contradicts, "stale figure: claim r750-more says 30.6 %"},
			"r750-price":               {DoesNot, "wrong base: divided by the new value instead of the old: 3.9648 %"},
			"r750-per-watt":            {Contradicts, "r750-per-watt-conclusion says 3.8 %"},
			"r750-per-watt-conclusion": {Contradicts, "r750-per-watt says 9.2 %"},
			"nic-speed-r750":           {DoesNot, "system=R740] in the place of nic_speed[system=R750] it follows"},
			"nic-power-r750":           {DoesNot, "system=R740] in the place of nic_power[system=R750] it follows"},
			"nic-speed-r740":           {DoesNot, "give 4 x, not 10x"},
		},
		"a2-mysql-consolidation": {"modern-server": {OnlyCut, "3224726.67"}},
		"a3-ipv6-offload": {
			"identity-64k":                    {OnlyCut, "6302.56"},
			"ipv6-write-64k-cpu":              {OnlyCut, "1.5152"},
			"ipv6-read-256k-cpu":              {OnlyCut, "3.5461"},
			"offload-v6-write-64k-throughput": {OnlyCut, "-0.2191"},
			"offload-v6-read-64k-throughput":  {OnlyCut, "25.4356"},
			"offload-v4-write-64k-throughput": {OnlyCut, "-0.3869"},
		},
		"b2-oracle-fc-generations": {
			"pcie-summary": {Contradicts, "pcie-text says 33 %"},
			"pcie-text":    {Contradicts, "pcie-summary says 42 %"},
		},
		"c2-drive-classes":          {"against-sas": {DoesNot, "the extreme of the wrong row: 1.7x is the value of seq_write, class=SAS, capacity=960 GB"}},
		"c3-mysql-pcie-generations": {"write-latency": {CannotTell, "from 72.7273 to 92.3077 %"}},
		"e6-bandwidth-arithmetic": {
			"gen2-lane": {DoesNot, "the value of another generation: of 1"},
			"gen3-lane": {DoesNot, "the value of another generation: of 2"},
		},
	}
}

func published(t *testing.T, name string) (*Figures, Audit) {
	t.Helper()
	path := filepath.Join("..", "examples", "published", name+".yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := Read(name+".yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := figures.Audit()
	if err != nil {
		t.Fatal(err)
	}
	return figures, audit
}

func publishedNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../examples/published/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d published reports (%v), want 15 or more", len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	return names
}

// TestPublishedReports audits every published report: what does not stand is
// found with its cause, and nothing else is objected to.
func TestPublishedReports(t *testing.T) {
	for _, name := range publishedNames(t) {
		t.Run(name, func(t *testing.T) {
			_, audit := published(t, name)
			want := objections()[name]
			for _, o := range audit.Outcomes {
				w, listed := want[o.ID]
				delete(want, o.ID)
				if !listed {
					if o.Verdict != Follows && o.Verdict != NotDerivable {
						t.Errorf("%s: %s: %s, which nobody expects", o.ID, o.Verdict, o.Text)
					}
					continue
				}
				said := strings.Join(slices.Concat([]string{o.Text}, o.Causes, o.Rows), "\n")
				if o.Verdict != w.verdict || !strings.Contains(said, w.says) {
					t.Errorf("%s: %s: %s\nwant %s with %q", o.ID, o.Verdict, said, w.verdict, w.says)
				}
			}
			for id := range want {
				t.Errorf("%s is not a claim of the report", id)
			}
		})
	}
}

func TestOutliersAreListed(t *testing.T) {
	_, audit := published(t, "c2-drive-classes")
	i := slices.IndexFunc(audit.Outcomes, func(o Outcome) bool { return o.ID == "grades" })
	got := audit.Outcomes[i].Rows
	want := []string{
		"seq_write, grade=enterprise, size=3.84 TB: -13.0 %",
		"rand_read, grade=enterprise, size=3.84 TB: -22.8 %",
		"rand_read, grade=enterprise, size=7.68 TB: -22.8 %",
		"rand_write, grade=enterprise, size=3.84 TB: 15.4 %",
	}
	if !slices.Equal(got, want) {
		t.Errorf("outside 10 %%: %q, want %q", got, want)
	}
}

func TestDisclosedDifferencesAreNamed(t *testing.T) {
	_, audit := published(t, "b2-oracle-fc-generations")
	if len(audit.Undeclared) != 2 || !strings.Contains(audit.Undeclared[0], "CPU differs") || !strings.Contains(audit.Undeclared[1], "memory differs") {
		t.Errorf("undeclared: %q, want CPU and memory", audit.Undeclared)
	}
}
