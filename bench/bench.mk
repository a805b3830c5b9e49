# Benchmarks: the engines against the peers that are found here, in one run, so
# that their ratios mean something. They need a machine that is otherwise idle.

BENCHFLAGS ?=

.PHONY: bench-driver bench-kv bench-net bench-http bench-oltp bench-olap

bench: bench-driver bench-kv bench-net bench-http bench-oltp bench-olap

# the measuring loop's own cost, with an engine that does nothing
bench-driver:
	$(GO) test -run '^$$' -bench . ./bench

# the key-value engine against redis-benchmark, memtier_benchmark and memaslap
bench-kv:
	$(GO) run ./bench/kv $(BENCHFLAGS)

# the network engine against iperf3, qperf and sockperf, over loopback
bench-net:
	$(GO) run ./bench/net $(BENCHFLAGS)

# the web engine against wrk, on nginx
bench-http:
	$(GO) run ./bench/http $(BENCHFLAGS)

# the order-entry engine against HammerDB, go-tpc and pgbench, on PostgreSQL:
# BENCHFLAGS="-hammerdb FOLDER -go-tpc FILE" for those that are not found by themselves
bench-oltp:
	$(GO) run ./bench/oltp $(BENCHFLAGS)

# the decision support engine: the generator alone, then load and 22 validated queries at
# scale factor 1 on DuckDB (C is needed); BENCHFLAGS="-targets duckdb:,sqlite:,postgres://..." for others
bench-olap:
	CGO_ENABLED=1 $(GO) run -tags duckdb ./bench/olap $(BENCHFLAGS)
