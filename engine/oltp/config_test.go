package oltp_test

import (
	"context"
	"strings"
	"testing"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/postgres"
	"bakeoff/engine/oltp/sqlite"
	"bakeoff/load"
)

func engine() oltp.Engine { return oltp.New(sqlite.Target{}, postgres.Target{}) }

func open(spec load.Spec) error {
	s, err := engine().Open(context.Background(), spec)
	if err != nil {
		return err
	}
	return s.Close()
}

const somewhere = "postgres://127.0.0.1/tpcc"

func TestWhatIsRefused(t *testing.T) {
	type p = map[string]any
	for _, c := range []struct {
		name       string
		target     string
		parameters p
		common     load.Common
		want       []string
	}{
		{"unknown scheme", "postgre://host/db", nil, load.Common{}, []string{`unknown scheme "postgre"`, "sqlite:FILE", "postgres://HOST/DATABASE"}},
		{"no URL", "postgres://a b", nil, load.Common{}, []string{"no URL"}},
		{"password in the URL", "postgres://me:hidden@host/db", nil, load.Common{}, []string{"holds a password", "secret"}},
		{"no host", "postgres:///db", nil, load.Common{}, []string{"names no host", "?host=/FOLDER"}},
		{"relative socket", "postgres:///db?host=run", nil, load.Common{}, []string{"absolute path"}},
		{"port", "postgres://host:0/db", nil, load.Common{}, []string{`port "0"`}},
		{"option", "postgres://host/db?sslmode=require", nil, load.Common{}, []string{"sslmode", "parameter tls"}},
		{"long name", "postgres://host/" + strings.Repeat("x", 60), nil, load.Common{}, []string{"up to 57 bytes"}},
		{"profile", somewhere, p{"profile": "something"}, load.Common{}, []string{"hammerdb, spec"}},
		{"warehouses", somewhere, p{"warehouses": 0}, load.Common{}, []string{"0 warehouses"}},
		{"users", somewhere, p{"users": -1}, load.Common{}, []string{"-1 users"}},
		{"retries", somewhere, p{"retries": 5000}, load.Common{}, []string{"retries", "0 to 1000"}},
		{"loaders", somewhere, p{"loaders": 500}, load.Common{}, []string{"loaders", "0 to 64"}},
		{"misspelt", somewhere, p{"warehouse": 2}, load.Common{}, []string{`did you mean "warehouses"`}},
		{"keying in an open loop", somewhere, p{"keying": true}, load.Common{Rate: 10}, []string{"either keying or the rate"}},
		{"TLS parameters without TLS", somewhere, p{"tls_ca": "x"}, load.Common{}, []string{"tls_ca", "tls: true"}},
		{"certificates that are not there", somewhere, p{"tls": true, "tls_ca": "/nowhere/ca.pem"}, load.Common{}, []string{"reading the certificates"}},
		{"HammerDB's schema by client SQL", somewhere, p{"schema": "hammerdb", "mode": "client-sql"}, load.Common{}, []string{"through its routines"}},
		{"HammerDB's schema loaded by us", somewhere, p{"schema": "hammerdb", "restore": "reload"}, load.Common{}, []string{"only HammerDB can load"}},
		{"rows on PostgreSQL", somewhere, p{"statements": "row"}, load.Common{}, []string{"expected auto or set"}},
		{"procedures on SQLite", "sqlite:/tmp/x.db", p{"mode": "procedures"}, load.Common{}, []string{"no stored procedures"}},
	} {
		err := open(load.Spec{Target: c.target, Parameters: c.parameters, Common: c.common})
		if err == nil {
			t.Errorf("%s: taken", c.name)
			continue
		}
		for _, w := range append(c.want, "engine oltp") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is missing in: %v", c.name, w, err)
			}
		}
		if strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the password is in: %v", c.name, err)
		}
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	err := open(load.Spec{Target: "nothing:", Parameters: map[string]any{"users": 0, "retries": -1}})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("want three lines, found: %v", err)
	}
}

func TestPartsAndDefaults(t *testing.T) {
	if err := open(load.Spec{Part: load.Sink}); err == nil || !strings.Contains(err.Error(), "only a source") {
		t.Errorf("a sink: %v", err)
	}
	session, err := engine().Open(t.Context(), load.Spec{Target: somewhere, Parameters: map[string]any{"users": 10}, Common: load.Common{Workers: 4}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if s := session.Shape(); s.Workers != 4 || s.InFlight != 3 || s.Contract != load.Batched {
		t.Errorf("shape %+v, want 4 threads with up to 3 users each", s)
	}
}
