package tpch

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Queries is how many queries the specification has, numbered from 1.
const Queries = 22

//go:embed sql/*.sql
var queryFiles embed.FS

// Text returns the text of a query with its parameters in place. Arithmetic on
// constant dates and decimals, such as the end of an interval, is done here, so that
// it is the same in every dialect (clause 2.2.3.3 allows what is specific to a
// vendor in date expressions).
func Text(d Dialect, query int, parameters []string) (string, error) {
	name := fmt.Sprintf("sql/q%02d.sql", query)
	source, err := queryFiles.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("query %d: expected 1 to %d", query, Queries)
	}
	t, err := template.New(name).Funcs(functions(d, parameters)).Parse(string(source))
	if err != nil {
		return "", fmt.Errorf("query %d: %w", query, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, nil); err != nil {
		return "", fmt.Errorf("query %d: %w", query, err)
	}
	return strings.TrimSpace(text.String()), nil
}

// functions are what a query's file may call.
func functions(d Dialect, parameters []string) template.FuncMap {
	return template.FuncMap{
		"p": func(n int) (string, error) {
			if n > len(parameters) {
				return "", fmt.Errorf("found %d parameters, expected at least %d", len(parameters), n)
			}
			return parameters[n-1], nil
		},
		"date":   d.date,
		"year":   d.year,
		"prefix": d.prefix,
		"top":    d.top,
		"limit":  d.limit,
		"once":   d.once,
		"days":   func(day string, n int) (string, error) { return shift(day, 0, n) },
		"months": func(day string, n int) (string, error) { return shift(day, n, 0) },
		"minus": func(n string) (int, error) {
			v, err := strconv.Atoi(n)
			return -v, err
		},
		"plus": plus,
	}
}

func shift(day string, months, days int) (string, error) {
	t, err := time.Parse(time.DateOnly, day)
	return t.AddDate(0, months, days).Format(time.DateOnly), err
}

// plus adds decimals of two digits, which no binary fraction does exactly.
func plus(a, b string) (string, error) {
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return "", err
	}
	y, err := strconv.ParseFloat(b, 64)
	return strconv.FormatFloat(x+y, 'f', 2, 64), err
}
