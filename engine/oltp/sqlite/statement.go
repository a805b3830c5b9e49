package sqlite

import "strings"

// short is the beginning of a statement, for an error.
func short(sql string) string {
	sql = strings.Join(strings.Fields(sql), " ")
	if len(sql) > 60 {
		sql = sql[:57] + "..."
	}
	return sql
}

// bind sets the parameters from the first to whole numbers.
func (s *stmt) bind(values ...int64) *stmt {
	for i, v := range values {
		s.bindInt(i+1, v)
	}
	return s
}

// run runs the statement to its end; its rows do not matter.
func (s *stmt) run() error {
	for {
		row, err := s.step()
		if err != nil || !row {
			s.reset()
			return err
		}
	}
}

// one runs the statement and calls read with its first row, where it has one.
func (s *stmt) one(read func()) (found bool, err error) {
	defer s.reset()
	found, err = s.step()
	if found {
		read() // an UPDATE with RETURNING made its changes before its first row
	}
	return found, err
}
