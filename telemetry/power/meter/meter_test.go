package meter

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bakeoff/internal/osenv"
)

func TestCheck(t *testing.T) {
	for _, w := range []float64{0.1, 1, 831, 65534, 65536, 999999} {
		if err := Check("x", w); err != nil {
			t.Errorf("%v W: %v", w, err)
		}
	}
	for _, w := range []float64{0, -1, -0.5, 32767, 65535, math.MaxInt32, math.MaxUint32, 2e6, math.NaN(), math.Inf(1)} {
		if err := Check("the meter", w); !errors.Is(err, ErrNoReading) || !strings.Contains(err.Error(), "the meter") {
			t.Errorf("%v W: got %v, want no reading", w, err)
		}
	}
}

func TestDiffer(t *testing.T) {
	for _, tt := range []struct {
		a, b float64
		want bool
	}{{344, 374, true}, {374, 344, true}, {300, 301, false}, {20, 24, false}, {1000, 1049, false}, {1000, 1060, true}, {0, 100, true}} {
		if got := Differ(tt.a, tt.b); got != tt.want {
			t.Errorf("Differ(%v, %v) = %t", tt.a, tt.b, got)
		}
	}
}

func options(dir string, values map[string]string) *Options {
	env := &osenv.Env{Dir: dir, LookupEnv: func(key string) (string, bool) { return "open sesame", key == "SECRET" }}
	return NewOptions(env, `power source "x"`, values)
}

func TestOptions(t *testing.T) {
	o := options("/base", map[string]string{
		"text": "a", "list": "a, b,,c ", "yes": "on", "number": "1.5", "for": "-1.5s", "day": "1d", "share": "2%", "file": "m.csv", "word": "second",
	})
	if o.Text("text", "z") != "a" || o.Text("other", "z") != "z" || strings.Join(o.List("list"), "|") != "a|b|c" || !o.Bool("yes") || o.Bool("no") {
		t.Error("text, list or truth is wrong")
	}
	if o.Number("number", 0) != 1.5 || o.Number("none", 7) != 7 || o.Duration("for", 0) != -1500*time.Millisecond || o.Duration("day", 0) != 24*time.Hour {
		t.Error("a number or a length of time is wrong")
	}
	if p := o.Percent("share"); p == nil || *p != 2 || o.Percent("nothing") != nil {
		t.Error("a percentage is wrong")
	}
	if o.Path("file") != "/base/m.csv" || o.Choice("word", "first", "second") != "second" {
		t.Error("a path or a choice is wrong")
	}
	if err := o.Err(); err != nil {
		t.Error(err)
	}
	o = options("", map[string]string{"yes": "perhaps", "number": "inf", "for": "soon", "share": "2", "word": "third", "stray": "x"})
	o.Bool("yes")
	o.Number("number", 0)
	o.Duration("for", 0)
	o.Percent("share")
	o.Choice("word", "first", "second")
	o.Must("needed", "something")
	err := o.Err()
	for _, want := range []string{
		`yes: found "perhaps"`, `number: found "inf"`, `for: found "soon"`, `share: found "2"`, `word: found "third"; expected one of first, second`,
		"needed: it is missing; expected something", "stray: no such option",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestSecretSources(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]map[string]string{
		"environment": {"password_env": "SECRET"}, "file": {"password_file": "secret"},
	} {
		o := options(dir, values)
		if s := o.Secret("password"); s.Reveal() != "open sesame" || o.Err() != nil || len(o.Notes()) != 0 {
			t.Errorf("%s: %q, %v, %q", name, s.Reveal(), o.Err(), o.Notes())
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(dir, map[string]string{"password_file": "secret"})
	if o.Secret("password"); len(o.Notes()) != 1 || !strings.Contains(o.Notes()[0], "chmod 600") {
		t.Errorf("a file that others may read: %q", o.Notes())
	}
	o = options(dir, map[string]string{"password_file": "secret", "password_env": "SECRET"})
	if o.Secret("password"); o.Err() == nil || !strings.Contains(o.Err().Error(), "both password_env and password_file") {
		t.Errorf("both: %v", o.Err())
	}
	if o = options(dir, nil); !o.Secret("password").Empty() || o.Err() != nil {
		t.Errorf("none: %v", o.Err())
	}
}
