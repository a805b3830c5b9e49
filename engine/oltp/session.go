package oltp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bakeoff/engine/oltp/account"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
	"bakeoff/load"
	"bakeoff/load/ring"
	"bakeoff/record"
)

// session is one load on one database.
type session struct {
	spec   load.Spec
	config Config
	target Target
	db     Database

	restore string
	replace bool
	check   string
	keying  bool
	loaders int

	backend string
	threads int // of a Wired database
	account *account.Account

	progress func(float64)
	ready    bool         // prepared
	violated map[int]bool // conditions that HammerDB's data violate from the start
	loaded   *loading     // of what this session loaded; nil where it did not
	restored float64      // seconds; 0 where nothing was restored
	before   int64        // sum of d_next_o_id when the data set was ready
	edges    []edge       // snapshots
}

// edge is a snapshot of the counters of the target.
type edge struct {
	at   int64 // clock nanoseconds at which it was asked for
	took int64 // until the answer was there, during which the transactions went on
	done int64 // transactions of our own
	Counters
}

// shapeIO settles on the way of input and output, so that every worker's is the
// one that the record names.
func (s *session) shapeIO() error {
	if _, wired := s.db.(Wired); !wired {
		if _, ok := s.db.(Blocking); !ok {
			return fmt.Errorf("engine oltp: a %T is neither Wired nor Blocking", s.db)
		}
		s.backend = "blocking"
		return nil
	}
	s.threads = min(max(s.spec.Common.Workers, 1), s.config.Rules.Users)
	s.backend = string(s.config.IO)
	if s.config.IO == ring.Auto {
		s.config.IO = ring.URing
		s.backend = string(s.config.IO)
		if err := ring.Available(); err != nil {
			s.config.IO = ring.Epoll
			s.backend = fmt.Sprintf("%s (%v)", s.config.IO, err)
		}
	}
	if s.config.TLS != nil {
		s.backend += ", TLS in the generator"
	}
	return nil
}

// Shape gives each thread its share of the users, or each user a goroutine.
func (s *session) Shape() load.Shape {
	users := s.config.Rules.Users
	if s.threads == 0 {
		_, embedded := s.target.(Embedded)
		return load.Shape{Workers: users, InFlight: 1, Contract: load.Blocking, Backend: s.backend, Embedded: embedded}
	}
	return load.Shape{Workers: s.threads, InFlight: (users + s.threads - 1) / s.threads, Contract: load.Batched, Backend: s.backend}
}

// Worker opens worker i of n.
func (s *session) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	shape := s.Shape()
	if n != shape.Workers {
		return nil, fmt.Errorf("engine oltp: asked for %d workers, expected %d", n, shape.Workers)
	}
	var w load.Worker
	var err error
	if s.threads > 0 {
		w, err = s.wired(ctx, i, n)
	} else {
		w, err = newClientUser(ctx, s, i)
	}
	if err != nil {
		return nil, fmt.Errorf("engine oltp: %w", err)
	}
	return w, nil
}

// wired opens a thread's users: as many more for the first threads as the users
// do not share out evenly.
func (s *session) wired(ctx context.Context, i, n int) (load.Worker, error) {
	users := s.config.Rules.Users
	first, end := users*i/n, users*(i+1)/n
	w, err := wire.New(ctx, wire.Options{
		Clock: s.config.Clock, Backend: s.config.IO, Dial: s.db.(Wired).Dial, Account: s.account, Rules: s.config.Rules,
		Instance: s.spec.Instance, First: first, Users: end - first, Keying: s.keying, Thinking: s.keying, Timeout: s.config.Timeout,
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Settings reads the server's version and the settings that matter.
func (s *session) Settings(ctx context.Context) (map[string]string, error) {
	facts, err := s.db.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine oltp: %w", err)
	}
	settings := map[string]string{"product": s.target.Product()}
	for _, f := range facts {
		settings[f.Name] = f.Text
	}
	return settings, nil
}

// Snapshot reads the target's counters.
func (s *session) Snapshot(ctx context.Context) ([]load.Count, error) {
	// What is counted is what was committed when it was asked for: a server that
	// is slow to answer, or stalls, has not gone on with its work meanwhile.
	begin, done := s.config.Clock.Now(), s.account.Done()
	c, err := s.db.Counters(ctx)
	now := s.config.Clock.Now()
	counts := s.account.Counts(now, s.config.Rules.Users)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("engine oltp: reading the target's counters: %w", context.Cause(ctx))
	}
	if err != nil { // a target that is down: the operations themselves say so
		s.edges = append(s.edges, edge{at: -1})
		return counts, nil
	}
	s.edges = append(s.edges, edge{begin, now - begin, done, c})
	counts = append(counts, load.Count{Name: "target.next_orders", Unit: "1", Value: float64(c.NextOrders)})
	if c.Transactions >= 0 {
		counts = append(counts, load.Count{Name: "target.transactions", Unit: "1", Value: float64(c.Transactions)})
	}
	for _, m := range c.More {
		m.Name = "target." + m.Name
		counts = append(counts, m)
	}
	return counts, nil
}

// Figures are the results that only the target's own counters give, and what
// the data set took.
func (s *session) Figures(context.Context) ([]record.Figure, error) {
	var all []record.Figure
	add := func(name, unit string, value float64) {
		all = append(all, record.Figure{Name: name, Unit: unit, Value: value})
	}
	if l := s.loaded; l != nil && l.whole {
		add(figureLoad, "s", l.seconds)
		if l.seconds > 0 {
			add(figureRate, "rows/s", float64(l.rows)/l.seconds)
		}
	}
	if s.restored > 0 {
		add(figureRestore, "s", s.restored)
	}
	if n := len(s.edges); n >= 2 && s.edges[0].at >= 0 && s.edges[n-1].at > s.edges[0].at {
		from, to := s.edges[0], s.edges[n-1]
		minutes := float64(to.at-from.at) / 60e9
		nopm := float64(to.NextOrders-from.NextOrders) / minutes
		// A server that crashed counts from 0 again, which shows by what it missed.
		counted := to.Transactions - from.Transactions
		late := time.Duration(to.at-from.at) < lags*max(to.Lag, time.Duration(max(from.took, to.took)))
		if from.Transactions >= 0 && counted > (to.done-from.done)/2 && !late {
			add(figureTPM, "TPM", float64(counted)/minutes)
		}
		add(figureNOPM, "NOPM", nopm)
		if s.keying && s.config.Rules.Profile == tpcc.Spec {
			add(figureTPMC, "NOPM", nopm)
		}
	}
	return all, nil
}

// lags is how many times as long as its counters' lag, or their reading, a window must be, for
// their rate to be right within a tenth.
const lags = 10

// Close ends the session.
func (s *session) Close() error {
	if err := s.db.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("engine oltp: %w", err)
	}
	return nil
}
