package olap

import (
	"context"
	"fmt"

	"bakeoff/engine/olap/tpch"
)

// validateOnce compares the answers to all queries with the right ones, where
// they are known and this is wanted.
func (s *session) validateOnce(ctx context.Context) error {
	if s.c.validate == "never" || !tpch.Known(s.c.population.Scale()) {
		return nil
	}
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := readMark(ctx, conn)
	if err != nil || s.c.validate == "once" && m[markValidated] == tpch.AnswersVersion {
		return err
	}
	begin := s.c.spec.Clock.Now()
	for _, q := range s.c.queries {
		if err := s.validate(ctx, conn, q); err != nil {
			return fmt.Errorf("validating the data set: %w", err)
		}
	}
	s.took("validation_time", begin)
	if len(s.c.queries) < tpch.Queries {
		return nil
	}
	return setMark(ctx, conn, markValidated, tpch.AnswersVersion)
}

func (s *session) validate(ctx context.Context, q querier, query int) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.timeout)
	defer cancel()
	scale := s.c.population.Scale()
	text, err := queryText(s.c, s.db.Dialect(), query, tpch.Validation(query, scale))
	if err != nil {
		return err
	}
	a, err := answer(ctx, q, query, text)
	if err != nil {
		return err
	}
	right, _ := tpch.Right(query, scale)
	return a.Same(query, right)
}
