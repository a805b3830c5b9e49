package main

import (
	"strings"
	"testing"

	"bakeoff/record"
)

func TestForecast(t *testing.T) {
	const memory = 8 << 30
	for _, c := range []struct {
		set  *record.DataSet
		want []string // parts of it; none for nothing to say
	}{
		{nil, nil},
		{&record.DataSet{Items: 1_000_000, Bytes: 38_000_000}, nil},
		{&record.DataSet{Items: 100_000_000, Bytes: 4 << 30}, []string{"100,000,000 items", "4.000 GiB", "1m40s"}},
		{&record.DataSet{Items: 1000, Bytes: 7 << 30}, []string{"1,000 items", "that takes 1s"}},
		{&record.DataSet{Items: 10_000_000_000, Bytes: 400 << 30}, []string{"2h46m40s", "this machine has 8.000 GiB"}},
	} {
		got := forecast(c.set, memory)
		if len(c.want) == 0 && got != "" {
			t.Errorf("%+v: %q, want nothing", c.set, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: %q does not say %q", c.set, got, want)
			}
		}
	}
}
