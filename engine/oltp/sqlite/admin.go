package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/load"
)

// Columns lists the tables and their columns.
func (d *database) Columns(ctx context.Context) (map[string][]string, error) {
	tables := map[string][]string{}
	err := d.manage(ctx, false, func(c *conn) error {
		s, err := c.prepare("SELECT m.name, x.name FROM sqlite_schema m, pragma_table_xinfo(m.name) x WHERE m.type = 'table' ORDER BY m.name, x.cid")
		if err != nil {
			return err
		}
		defer s.finalize()
		for {
			row, err := s.step()
			if err != nil || !row {
				return err
			}
			table, column := strings.ToLower(string(s.text(0))), strings.ToLower(string(s.text(1)))
			if !strings.HasSuffix(column, unscaled) { // it has a column of its true value beside it
				tables[table] = append(tables[table], column)
			}
		}
	})
	if errors.Is(err, errNoFile) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	return tables, nil
}

// Query runs a query and returns its rows as text.
func (d *database) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = d.manage(ctx, false, func(c *conn) error {
		s, err := c.prepare(sql)
		if err != nil {
			return err
		}
		defer s.finalize()
		for {
			row, err := s.step()
			if err != nil {
				return fmt.Errorf("%s: %w", short(sql), err)
			}
			if !row {
				return nil
			}
			values := make([]string, s.columns())
			for i := range values {
				values[i] = string(s.text(i))
			}
			rows = append(rows, values)
		}
	})
	return rows, err
}

// Exec runs statements.
func (d *database) Exec(ctx context.Context, sql ...string) error {
	return d.manage(ctx, true, func(c *conn) error {
		for _, statement := range sql {
			if err := c.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Facts reads what SQLite was built and set to.
func (d *database) Facts(ctx context.Context) (facts []oltp.Fact, err error) {
	err = d.manage(ctx, true, func(c *conn) error {
		facts = []oltp.Fact{{Name: "sqlite_version", Text: c.version()}, {Name: "library", Text: library}}
		page, err := c.number("page_size")
		if err != nil {
			return err
		}
		journal, err := c.pragma("journal_mode")
		if err != nil {
			return err
		}
		pages, err := c.number("wal_autocheckpoint")
		if err != nil {
			return err
		}
		system, err := d.fileSystem()
		if err != nil {
			return err
		}
		facts = append(facts,
			oltp.Fact{Name: "page_size", Unit: "B", Value: float64(page), Text: fmt.Sprint(page)},
			oltp.Fact{Name: "journal_mode", Text: journal},
			oltp.Fact{Name: "synchronous", Text: d.synchronous},
			oltp.Fact{Name: "cache_size", Unit: "B", Value: float64(d.cache), Text: fmt.Sprintf("-%d", d.cache>>10)},
			oltp.Fact{Name: "wal_autocheckpoint", Unit: "B", Value: float64(pages * page), Text: fmt.Sprint(pages)},
			oltp.Fact{Name: "connections", Unit: "1", Value: 1, Text: "1, shared by all users"},
			oltp.Fact{Name: "statements", Text: "row"},
			oltp.Fact{Name: "file_system", Text: system},
		)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading SQLite's settings: %w", err)
	}
	return facts, nil
}

func (d *database) fileSystem() (string, error) {
	if d.own != nil {
		return fileSystem(d.own.file)
	}
	// Not the database itself: to close a file drops all locks that the process
	// has on it, SQLite's too (fcntl(2)).
	f, err := os.Open(d.directory())
	if err != nil {
		return "", err
	}
	defer f.Close()
	return fileSystem(f)
}

// Counters reads the sum of the districts' next orders and what was counted here,
// since SQLite itself counts nothing: this process has the only connection that
// makes transactions, so that its own count is the database's.
func (d *database) Counters(ctx context.Context) (counters oltp.Counters, err error) {
	err = d.manage(ctx, false, func(c *conn) error {
		s, err := c.prepare("SELECT SUM(d_next_o_id) FROM district")
		if err != nil {
			return err
		}
		defer s.finalize()
		_, err = s.one(func() { counters.NextOrders = s.int(0) })
		return err
	})
	if err != nil {
		return counters, fmt.Errorf("reading the counters: %w", err)
	}
	commits, rollbacks := d.commits.Load(), d.rollbacks.Load()
	counters.Transactions = commits + rollbacks
	counters.More = []load.Count{
		{Name: "sqlite_commits", Unit: "1", Value: float64(commits)},
		{Name: "sqlite_rollbacks", Unit: "1", Value: float64(rollbacks)},
		{Name: "sqlite_connection_wait", Unit: "s", Value: float64(d.waited.Load()) / 1e9},
	}
	return counters, nil
}
