package postgres_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/postgres"
	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/test/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func engine() oltp.Engine { return oltp.New(postgres.Target{}) }

func TestSuite(t *testing.T) {
	s := postgrestest.Start(t, postgrestest.Options{})
	common := load.Common{OpTimeout: 5 * time.Second}
	spec := func(url string, parameters map[string]any) load.Spec {
		parameters["users"] = 3
		return load.Spec{Target: url, Parameters: parameters, Common: common}
	}
	loadtest.Run(t, engine(),
		spec(s.Database("own"), map[string]any{}),
		spec(s.SocketDatabase("sql"), map[string]any{"mode": "client-sql", "profile": "spec", "io": "epoll"}),
	)
}
