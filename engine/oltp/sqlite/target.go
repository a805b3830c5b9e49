// Package sqlite runs the order-entry transactions on SQLite, inside bakeoff's own
// process, so that they run where nothing is installed.
//
// SQLite has one writer at a time, and several writing connections are slower
// than one: they meet at a lock and poll for it. All users therefore share one
// connection, in the order in which they ask for it, and a transaction's latency
// includes the wait. More users than one do not raise the throughput; they show
// what each of them would see of an application that is built this way.
package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"bakeoff/engine/oltp"
	"bakeoff/internal/spelling"
	"bakeoff/unit"
)

// Target is SQLite. Its zero value is ready.
//
// A URL is sqlite:PATH, or sqlite: alone for a file of the load's own that is
// gone with it. Options follow a "?": synchronous (off, normal, full, extra; as
// PRAGMA synchronous), cache (size of the page cache), checkpoint (size of the
// write-ahead log at which it is copied into the database) and page_size (of a
// new file).
type Target struct{}

// Product is "SQLite".
func (Target) Product() string { return "SQLite" }

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"sqlite"} }

// Embedded says that SQLite works in this process and has no stored routines.
func (Target) Embedded() {}

// config is what a URL asks for.
type config struct {
	oltp.Config
	path        string // "" for a file of the load's own
	synchronous string
	cache       int64 // bytes
	checkpoint  int64 // bytes
	pageSize    int64
}

// The options' defaults. SQLite's own checkpoint, at 1,000 pages, writes the pages
// of a random load again and again: it halves the throughput.
const (
	defaultSynchronous = "normal"
	defaultCache       = 256 << 20
	defaultCheckpoint  = 16 << 20
	defaultPageSize    = 4 << 10
)

// Open reads the URL. It opens no file.
func (Target) Open(c oltp.Config) (oltp.Database, error) {
	cfg, err := configure(c)
	if err != nil {
		return nil, err
	}
	return &database{config: cfg, seat: make(chan struct{}, 1)}, nil
}

func configure(c oltp.Config) (config, error) {
	cfg := config{Config: c, synchronous: defaultSynchronous, cache: defaultCache, checkpoint: defaultCheckpoint, pageSize: defaultPageSize}
	switch {
	case c.URL.Host != "":
		return cfg, fmt.Errorf("it names a host, and SQLite works on a file: write sqlite:%s%s", c.URL.Host, c.URL.Path)
	case c.User != "" || c.Password != "" || c.URL.User != nil:
		return cfg, errors.New("SQLite has no users and no passwords: leave them out")
	case c.TLS != nil:
		return cfg, errors.New("SQLite has no connection that TLS could protect: leave it out")
	case c.Schema == oltp.HammerDBSchema:
		return cfg, errors.New("HammerDB builds no schema on SQLite: use schema own")
	}
	path := c.URL.Path
	if c.URL.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(c.URL.Opaque); err != nil {
			return cfg, fmt.Errorf("the path: %w", err)
		}
	}
	if path != "" {
		cfg.path = filepath.Clean(oltp.InstanceName(path, c.Instance))
		if info, err := os.Stat(cfg.path); err == nil && !info.Mode().IsRegular() {
			return cfg, fmt.Errorf("%s is no file: expected the path of a database, which is made where it is missing", cfg.path)
		}
		if info, err := os.Stat(filepath.Dir(cfg.path)); err != nil || !info.IsDir() {
			return cfg, fmt.Errorf("%s is no folder that is there: make it first, or name another file", filepath.Dir(cfg.path))
		}
	}
	return cfg, cfg.options(c.URL.RawQuery)
}

func (c *config) options(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("its options: %w", err)
	}
	names := []string{"synchronous", "cache", "checkpoint", "page_size"}
	for name, value := range values {
		var err error
		switch last := value[len(value)-1]; name {
		case "synchronous":
			c.synchronous = last
			if levels := []string{"off", "normal", "full", "extra"}; !slices.Contains(levels, last) {
				err = fmt.Errorf("found %q, expected %s", last, strings.Join(levels, ", "))
			}
		case "cache":
			c.cache, err = size(last, 1<<20, 1<<40)
		case "checkpoint":
			c.checkpoint, err = size(last, 64<<10, 1<<40)
		case "page_size":
			c.pageSize, err = size(last, 512, 64<<10)
			if err == nil && c.pageSize&(c.pageSize-1) != 0 {
				err = fmt.Errorf("found %q, expected a power of two", last)
			}
		default:
			err = unknownOption(name, names)
		}
		if err != nil {
			return fmt.Errorf("option %s: %w", name, err)
		}
	}
	return nil
}

func unknownOption(name string, names []string) error {
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no such option: did you mean %s?", near)
	}
	return fmt.Errorf("there is no such option: expected %s", strings.Join(names, ", "))
}

// size reads a size and says which one is allowed.
func size(text string, low, high int64) (int64, error) {
	n, err := unit.ParseSize(text)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("found %q, expected %d to %d bytes", text, low, high)
	}
	return n, err
}

// database is one file and the two connections to it.
type database struct {
	config
	own   *ownFile // of a file of the load's own, once it is there
	admin admin    // for all but the transactions

	// seat is held by the user whose transaction runs. Those who wait for it get it
	// in the order in which they came.
	seat chan struct{}
	work *session // of the transactions; only with the seat

	commits, rollbacks atomic.Int64
	waited             atomic.Int64 // nanoseconds that users waited for the seat
}
