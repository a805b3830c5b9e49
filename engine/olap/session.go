package olap

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"bakeoff/load"
	"bakeoff/record"
)

// session is one load on one target.
type session struct {
	c   *config
	db  Database // opened when first needed
	own *folder  // of an embedded database that goes with the session

	figures []record.Figure // of preparing
	words   []byte          // kept so that refresh functions find them made
	streams []*stream
	powered chan struct{} // closed when the power run is over; nil without one before a throughput run
	mu      sync.Mutex    // of what streams have done
}

func newSession(c *config) *session {
	s := &session{c: c}
	if c.mode == "both" {
		s.powered = make(chan struct{})
	}
	return s
}

// open opens the database, in a folder of its own where the target is embedded and
// names no file.
func (s *session) open() error {
	if s.db != nil {
		return nil
	}
	cfg := s.c.database
	if cfg.URL.Host == "" && cfg.URL.Path == "" && cfg.URL.Opaque == "" {
		var err error
		if s.own, err = newFolder(); err != nil {
			return err
		}
		cfg.Dir = s.own.path
	}
	db, err := s.c.target.Open(cfg)
	if err != nil {
		return errors.Join(fmt.Errorf("target %s: %w", cfg.URL.Redacted(), err), s.Close())
	}
	s.db = db
	return nil
}

// Shape has a virtual user a stream: the power run's, the query streams, and
// the refresh stream of a throughput run.
func (s *session) Shape() load.Shape {
	_, embedded := s.c.target.(Embedded)
	return load.Shape{
		Workers: len(s.c.roles()), InFlight: 1, Contract: load.Blocking, Backend: "database/sql, blocking",
		Done: true, OpTimeout: s.c.timeout, Embedded: embedded,
	}
}

// Worker opens stream i of n.
func (s *session) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	roles := s.c.roles()
	if n != len(roles) {
		return nil, fmt.Errorf("engine olap: asked for %d workers, expected %d", n, len(roles))
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("engine olap: %w", err)
	}
	st, err := newStream(ctx, s, roles[i])
	if err != nil {
		return nil, fmt.Errorf("engine olap: %w", err)
	}
	s.streams = append(s.streams, st)
	return st, nil
}

// Snapshot has no counters.
func (s *session) Snapshot(context.Context) ([]load.Count, error) { return nil, nil }

// Settings reads the target's version and settings.
func (s *session) Settings(ctx context.Context) (map[string]string, error) {
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("engine olap: %w", err)
	}
	settings, err := s.db.Settings(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine olap: reading the server's settings: %w", err)
	}
	return settings, nil
}

// Close ends the session.
func (s *session) Close() error {
	var err error
	s.words = nil
	if s.db != nil {
		err = s.db.Close()
		s.db = nil
	}
	if s.own != nil {
		err = errors.Join(err, s.own.remove())
		s.own = nil
	}
	return err
}

// took adds a figure of how long something took.
func (s *session) took(name string, begin int64) {
	s.figures = append(s.figures, record.Figure{Name: name, Unit: "s", Value: s.since(begin)})
}
