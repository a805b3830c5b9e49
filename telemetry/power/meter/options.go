package meter

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/unit"
)

// Options are the options of one source as a plan has them. A source takes
// those that it knows and then asks Err, which refuses the others.
type Options struct {
	env    *osenv.Env
	source string // as `power source "wall"`, to say where an error is
	values map[string]string
	taken  map[string]bool
	errs   []error
	notes  []string
}

// NewOptions returns the options of the source named.
func NewOptions(env *osenv.Env, source string, values map[string]string) *Options {
	return &Options{env: env, source: source, values: values, taken: make(map[string]bool)}
}

// Env is the process's surroundings.
func (o *Options) Env() *osenv.Env { return o.env }

// Name is the source's name.
func (o *Options) Name() string { return o.source }

// Has reports whether an option is given.
func (o *Options) Has(key string) bool { return o.values[key] != "" }

// Text takes an option as it stands; fallback where it is not given.
func (o *Options) Text(key, fallback string) string {
	o.taken[key] = true
	if v := o.values[key]; v != "" {
		return v
	}
	return fallback
}

// Must takes an option that has to be there.
func (o *Options) Must(key, expected string) string {
	v := o.Text(key, "")
	if v == "" {
		o.fail(key, "it is missing", expected)
	}
	return v
}

// Choice takes an option that is one of a few words; the first is the default.
func (o *Options) Choice(key string, words ...string) string {
	v := o.Text(key, words[0])
	if !slices.Contains(words, v) {
		o.fail(key, fmt.Sprintf("found %q", v), "one of "+strings.Join(words, ", "))
	}
	return v
}

// List takes an option that lists words between commas.
func (o *Options) List(key string) []string {
	var list []string
	for _, v := range strings.Split(o.Text(key, ""), ",") {
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

// Bool takes an option that is true or false.
func (o *Options) Bool(key string) bool {
	switch v := o.Text(key, "false"); v {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
	default:
		o.fail(key, fmt.Sprintf("found %q", v), "true or false")
	}
	return false
}

// Number takes an option that is a decimal number.
func (o *Options) Number(key string, fallback float64) float64 {
	text := o.Text(key, "")
	if text == "" {
		return fallback
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != v || v-v != 0 {
		o.fail(key, fmt.Sprintf("found %q", text), "a number")
	}
	return v
}

// Duration takes an option that is a length of time, which may be negative.
func (o *Options) Duration(key string, fallback time.Duration) time.Duration {
	text := o.Text(key, "")
	if text == "" {
		return fallback
	}
	positive := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	v, err := unit.ParseDuration(positive)
	if err != nil {
		o.fail(key, fmt.Sprintf("found %q", text), "a length of time, as 10s or 250ms")
	}
	if strings.HasPrefix(text, "-") {
		return -v
	}
	return v
}

// Percent takes an option that is a percentage; nil where it is not given.
func (o *Options) Percent(key string) *float64 {
	text := o.Text(key, "")
	if text == "" {
		return nil
	}
	fraction, err := unit.ParsePercent(text)
	if err != nil || fraction < 0 {
		o.fail(key, fmt.Sprintf("found %q", text), "a percentage, as 1%")
		return nil
	}
	percent := fraction * 100
	return &percent
}

// Path takes an option that names a file, relative to the working directory.
func (o *Options) Path(key string) string {
	path := o.Text(key, "")
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(o.env.Dir, path)
	}
	return path
}

// Secret takes a secret from the environment variable that KEY_env names or the
// file that KEY_file names. In the plan itself it is refused: plans are part
// of the record.
func (o *Options) Secret(key string) Secret {
	o.taken[key] = true
	variable, path := o.Text(key+"_env", ""), o.Path(key+"_file")
	switch {
	case o.values[key] != "":
		o.fail(key, "a secret in the plan", "say "+key+"_env or "+key+"_file, and change it if the plan was shared")
	case variable != "" && path != "":
		o.fail(key, "both "+key+"_env and "+key+"_file", "one of them")
	case variable != "":
		v, ok := o.env.LookupEnv(variable)
		if !ok || v == "" {
			o.fail(key+"_env", fmt.Sprintf("the environment has no %s", variable), "the name of a variable that holds it")
		}
		return Secret{v}
	case path != "":
		return o.secretFile(key, path)
	}
	return Secret{}
}

func (o *Options) secretFile(key, path string) Secret {
	info, err := os.Stat(path)
	if err != nil {
		o.fail(key+"_file", err.Error(), "a file that holds it")
		return Secret{}
	}
	if info.Mode().Perm()&0o077 != 0 {
		o.notes = append(o.notes, fmt.Sprintf("%s: others than its owner may read or write it: chmod 600", path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		o.fail(key+"_file", err.Error(), "a file that can be read")
	}
	return Secret{strings.TrimRight(string(data), "\r\n")}
}

// Notes are what taking the options showed.
func (o *Options) Notes() []string { return o.notes }

// Refuse records that an option's value cannot be used.
func (o *Options) Refuse(key, found, expected string) { o.fail(key, found, expected) }

func (o *Options) fail(key, found, expected string) {
	o.taken[key] = true
	o.errs = append(o.errs, fmt.Errorf("%s: %s: %s; expected %s", o.source, key, found, expected))
}

// Err returns all that was wrong with the options, those that no source took
// included; nil where nothing was.
func (o *Options) Err() error {
	errs := o.errs
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		if !o.taken[key] {
			errs = append(errs, fmt.Errorf("%s: %s: no such option; it takes %s", o.source, key, strings.Join(slices.Sorted(maps.Keys(o.taken)), ", ")))
		}
	}
	return errors.Join(errs...)
}
