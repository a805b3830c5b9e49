package olap_test

import (
	"strings"
	"testing"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/duckdb"
	"bakeoff/load"
)

func TestBadSpecs(t *testing.T) {
	for _, tt := range []struct {
		target     string
		parameters map[string]any
		common     load.Common
		want       string
	}{
		{"", map[string]any{"scale": 1.5}, load.Common{}, "expected a whole number, or thousandths below 1"},
		{"", map[string]any{"scale": 0.002}, load.Common{}, "the same supplier twice"},
		{"", map[string]any{"queries": "1,23"}, load.Common{}, `found "23", expected numbers from 1 to 22`},
		{"", map[string]any{"queries": "9-3"}, load.Common{}, `found "9-3"`},
		{"", map[string]any{"queries": ""}, load.Common{}, "expected at least one query"},
		{"", map[string]any{"streams": 3}, load.Common{}, "expected mode throughput or both"},
		{"", map[string]any{"mode": "throughput", "streams": 5000}, load.Common{}, "expected 0 to 1000"},
		{"", map[string]any{"refresh": true, "parameters": "validation"}, load.Common{}, "leave out refresh"},
		{"", map[string]any{"scale": 3, "parameters": "validation"}, load.Common{}, "known for the scale factors [0.01 0.1 1] only, found 3"},
		{"", map[string]any{"parallel": 2}, load.Common{}, "sqlite runs a query on one thread"},
		{"", map[string]any{"timeout": "0s"}, load.Common{}, "expected at least 1ms"},
		{"", map[string]any{"tls": true}, load.Common{}, ""},
		{"", nil, load.Common{Workers: 3}, "set streams instead"},
		{"", map[string]any{"mode": "both"}, load.Common{Rate: 5}, "found a rate with mode both"},
		{"oracle://x", nil, load.Common{}, `unknown scheme "oracle"`},
		{"postgres://u:geheim@h/d", nil, load.Common{}, "holds a password"},
		{"postgres://u@h/d", map[string]any{"tls_ca": "x"}, load.Common{}, "without tls: true"},
		{"postgres://u@h/d", map[string]any{"tls": true, "tls_ca": "/no/such/file"}, load.Common{}, "reading the certificates"},
		{"post gres://", nil, load.Common{}, "it is no URL"},
	} {
		_, err := olapEngine().Open(t.Context(), load.Spec{Target: tt.target, Parameters: tt.parameters, Common: tt.common, Part: load.Source})
		if tt.want == "" {
			if err != nil {
				t.Errorf("%q %v: %v", tt.target, tt.parameters, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %v: found %v, want an error with %q", tt.target, tt.parameters, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func olapEngine() olap.Engine { return engine() }

// TestBadTargets are what only the target itself knows, when it is opened.
func TestBadTargets(t *testing.T) {
	for target, want := range map[string]string{
		"postgres://h/d":            "expected a user",
		"postgres://u@/d":           "it names no host",
		"postgres://u@h:99999/d":    "expected 1 to 65535",
		"postgres://u@h/d?x=1":      "unknown options",
		"postgres://u@h/a%22b":      "without quotes",
		"mysql://h/d":               "expected a user",
		"mysql://u@/d":              "it names no host",
		"mysql://u@h/d?x=1":         "unknown options",
		"mysql://u@h/a%60b":         "without quotes",
		"sqlite://host/file":        "with three slashes",
		"sqlite:no/such/folder/x":   "no folder that is there",
		"sqlite:///tmp/x?mode=rwc":  "no options",
		"sqlite://user@/tmp/x.file": "neither users nor TLS",
	} {
		r, err := load.Open(t.Context(), engine(), specOf(target, nil), load.Env{})
		if err == nil {
			_, err = r.Prepare(t.Context(), nil)
			if e := r.Close(); e != nil {
				t.Error(e)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, want an error with %q", target, err, want)
		}
	}
}

func TestDuckDBNeedsItsTag(t *testing.T) {
	r, err := load.Open(t.Context(), olap.New(duckdb.Target{}), specOf("duckdb:", nil), load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Prepare(t.Context(), nil); err != nil && !strings.Contains(err.Error(), "-tags duckdb") {
		t.Errorf("found %v, want one that names the tag", err)
	}
}
