# make         build bin/bakeoff
# make test    install what the tests need (Debian, root), then check and test everything
# make check   the same without installing anything
# make check-duckdb   what is behind the build tag duckdb, which wants a C++ compiler
# make fuzz    fuzz every parser for FUZZTIME each
# make bench   the engines against their peers (see bench/)

GO       ?= go
FUZZTIME ?= 20s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS   = -s -w -X main.linked=$(VERSION)

.PHONY: all build test check check-duckdb deps vet lint fuzz bench man clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/bakeoff ./cmd/bakeoff

test: deps check

deps:
	@sh test/install-deps.sh

check: vet
	$(GO) test -timeout 20m ./...
	$(GO) test -tags oracle ./engine/oltp/oracle
	CGO_ENABLED=1 $(GO) test -tags sqlite_c ./engine/oltp/sqlite

# DuckDB behind its build tag: its static libraries are a download of 150 MB
check-duckdb:
	CGO_ENABLED=1 $(GO) test -tags duckdb ./engine/olap/duckdb

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-clean: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...

lint:
	golangci-lint run ./...

fuzz:
	@sh test/fuzz.sh $(FUZZTIME)

man: build
	mkdir -p dist/man dist/completion
	bin/bakeoff man dist/man
	for shell in bash zsh fish; do bin/bakeoff completion $$shell > dist/completion/bakeoff.$$shell; done

clean:
	rm -rf bin dist

include bench/bench.mk
