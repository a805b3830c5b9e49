//go:build !duckdb

package duckdb

import (
	"errors"

	"bakeoff/engine/olap"
)

func open(olap.Config) (olap.Database, error) {
	return nil, errors.New("this bakeoff was built without DuckDB: build it with CGO_ENABLED=1 go build -tags duckdb ./cmd/bakeoff")
}
