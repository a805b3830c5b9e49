package plan

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/unit"
)

// A shape says how a key's value is written.
type shape string

const (
	shapeText      shape = "text"
	shapeLine      shape = "line"      // of text, for headings
	shapeName      shape = "name"      // of a host, service, workload or factor
	shapeMeasure   shape = "measure"   // the name of a measure
	shapeInterface shape = "interface" // the name of a network interface
	shapeBool      shape = "bool"      // true or false
	shapeCount     shape = "count"     // 250, 100k
	shapePositive  shape = "positive"  // a count above 0
	shapeFloat     shape = "float"
	shapeSize      shape = "size"     // 32, 4K, 1MB
	shapeDuration  shape = "duration" // 30s
	shapeRate      shape = "rate"     // 30k
	shapePercent   shape = "percent"  // 2%
	shapeMoney     shape = "money"    // 31823.62 USD
	shapeTariff    shape = "tariff"   // 0.12 USD/kWh
	shapeGrid      shape = "grid"     // 400 g/kWh
	shapeBrackets  shape = "brackets" // an amount of money, or a list of sections of field.keys
	shapeCPUs      shape = "cpus"     // 0-3,8
	shapeURL       shape = "url"
	shapeSeed      shape = "seed"
	shapeEnum      shape = "enum"    // one of field.values
	shapeTexts     shape = "texts"   // a list of text
	shapeCommand   shape = "command" // a list of text, the program first
	shapeMap       shape = "map"     // of text
	shapeSection   shape = "section" // a map of the keys in field.keys
	shapeNamed     shape = "named"   // a map from names to sections of field.keys
	shapeSections  shape = "list"    // a list of sections of field.keys
	shapeSwitch    shape = "switch"  // true, false, on or off, as engines take it
	shapeAny       shape = "any"
	shapeItems     shape = "items" // a list, or one value, as engines take it
	shapeTree      shape = "tree"  // a map of anything, as engines take it
)

// A field is one key that a section of a plan has.
type field struct {
	name   string
	shape  shape
	must   bool
	doc    string
	values []string // of an enum
	keys   []field  // of sections
	rest   shape    // of the further keys that the section takes; absent, it takes none
	of     shape    // of the names of a named section; absent, shapeName
}

// nameShape is how the names of a named section are written.
func (f field) nameShape() shape {
	if f.of == "" {
		return shapeName
	}
	return f.of
}

// scalarFault judges the text of a single value. It returns what was expected
// and how to mend it, or two empty texts.
func (s shape) scalarFault(text string, values []string) (expected, mend string) {
	switch s {
	case shapeText:
		return "", ""
	case shapeLine:
		if text == "" || len(text) > maxLine || strings.ContainsAny(text, "\n\t") {
			return fmt.Sprintf("one line of text, of at most %d bytes", maxLine), ""
		}
	case shapeEnum:
		if !slices.Contains(values, text) {
			return oneOf(values), meant(text, values)
		}
	case shapeBool:
		if text != "true" && text != "false" {
			return "true or false", ""
		}
	case shapeSwitch:
		if !slices.Contains([]string{"true", "false", "on", "off"}, text) {
			return "true or false, or on or off", ""
		}
	case shapeName:
		return nameFault(text)
	case shapeMeasure:
		if !measureText.MatchString(text) {
			return "the name of a measure, as throughput or get.latency.p99.9", ""
		}
	case shapeInterface:
		if !interfaceText.MatchString(text) {
			return "the name of a network interface, of 1 to 15 letters, digits, _ . and -", ""
		}
	case shapeCPUs:
		if !isCPUList(text) {
			return "a list of cores such as 2 or 0-3,8", ""
		}
	case shapeURL:
		return urlFault(text)
	}
	return s.quantityFault(text)
}

// quantityFault judges numbers with and without units.
func (s shape) quantityFault(text string) (expected, mend string) {
	var err error
	switch s {
	case shapeCount, shapePositive:
		var n int64
		if n, err = unit.ParseCount(text); err == nil && n == 0 && s == shapePositive {
			return "a count above 0", ""
		}
	case shapeFloat:
		if !floatText.MatchString(text) {
			return "a decimal number such as 0.99", ""
		}
	case shapeSeed:
		if _, err := strconv.ParseUint(text, 10, 64); err != nil || len(text) > 1 && text[0] == '0' {
			return "a whole number from 0 to 2^64-1", ""
		}
	case shapeSize:
		_, err = unit.ParseSize(text)
	case shapeDuration:
		var d time.Duration
		if d, err = unit.ParseDuration(text); err == nil && d > maxDuration {
			return "at most 366d", ""
		}
	case shapeRate:
		var rate float64
		if rate, err = unit.ParseRate(text); err == nil && rate == 0 {
			return "a rate above 0", "leave rate out for a closed loop"
		}
	case shapePercent:
		_, err = unit.ParsePercent(text)
	case shapeMoney:
		_, err = unit.ParseMoney(text)
	case shapeTariff:
		price, per := strings.CutSuffix(text, "/kWh")
		if _, err = unit.ParseMoney(price); err != nil || !per {
			return "a price of energy such as 0.12 USD/kWh", ""
		}
	case shapeGrid:
		if number, found := strings.CutSuffix(text, " g/kWh"); !found || strings.HasPrefix(number, "-") || !floatText.MatchString(number) {
			return "grams of CO2e a kWh, as 400 g/kWh", ""
		}
	}
	return unitFault(err)
}

// unitFault gives what the unit package expected.
func unitFault(err error) (expected, mend string) {
	if syntax, ok := err.(*unit.SyntaxError); ok {
		return "a " + syntax.Kind + ": " + syntax.Expected, ""
	}
	return "", ""
}

// Bounds of single values, far above any real one.
const (
	maxLine     = 300                  // bytes of a title or a question
	maxDuration = 366 * 24 * time.Hour // sums of a few never overflow
)

// The names that a plan gives, and those of measures.
const (
	namePattern      = `^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`
	interfacePattern = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`
	measurePattern   = `^[A-Za-z0-9_][A-Za-z0-9_./%-]{0,63}$`
)

var (
	nameText      = regexp.MustCompile(namePattern)
	interfaceText = regexp.MustCompile(interfacePattern)
	measureText   = regexp.MustCompile(measurePattern)
	floatText     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	optionText    = regexp.MustCompile(`\{[A-Za-z0-9_-]+\}`)
)

func nameFault(text string) (expected, mend string) {
	if !nameText.MatchString(text) {
		return "a name of letters, digits, _ and -, at most 64 of them", ""
	}
	return "", ""
}

// levelNameFault judges the name of a level, which may hold more than other
// names, but neither what cell names are made of nor what files are.
func levelNameFault(text string) (expected, mend string) {
	const form = "a level's name of printable characters without = , or spaces at its ends, at most 64 of them"
	if text == "" || len(text) > 64 || strings.ContainsAny(text, "=,") || strings.TrimSpace(text) != text {
		return form, ""
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return form, ""
		}
	}
	return "", ""
}

// isCPUList reads a list of cores as the kernel writes it: 0-3,8.
func isCPUList(text string) bool {
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return false
		}
		if to, err := strconv.ParseUint(last, 10, 16); ranged && (err != nil || to < from) {
			return false
		}
	}
	return true
}

// urlFault judges a target's URL. Passwords have no place in a plan, which is
// copied into every record.
func urlFault(text string) (expected, mend string) {
	const form = "a URL such as redis://127.0.0.1:6379 or unix:///run/redis.sock"
	// {option} of a service may stand for any part.
	u, err := url.Parse(optionText.ReplaceAllString(text, "1"))
	if err != nil || u.Scheme == "" || u.Host == "" && u.Path == "" && u.Opaque == "" {
		return form, ""
	}
	if _, has := u.User.Password(); has {
		return "a URL without a password", "name where it is kept, as secrets: {password: {env: REDIS_PASSWORD}}, and change it if this file was shared"
	}
	return "", ""
}

// check judges a value by its field and notes what is wrong.
func (f *faults) check(key string, line int, n *node, want field) {
	switch want.shape {
	case shapeAny:
		if n.null {
			f.add(line, key, "nothing", "a value", "remove the key, or give it a value")
		}
	case shapeSection:
		f.section(key, n, want)
	case shapeNamed:
		f.named(key, n, want)
	case shapeBrackets:
		f.amountOrList(key, line, n, want)
	case shapeSections, shapeTexts, shapeCommand, shapeItems:
		f.list(key, line, n, want)
	case shapeMap, shapeTree:
		f.textMap(key, line, n, want)
	default:
		f.scalar(key, line, n, want)
	}
}

func (f *faults) scalar(key string, line int, n *node, want field) {
	expected, mend := "a single value", ""
	found := n.kind.String()
	switch {
	case n.null:
		found = "nothing"
		mend = "remove the key, or give it a value"
	case n.kind == scalar:
		found = quote(n.text)
		expected, mend = want.shape.scalarFault(n.text, want.values)
	}
	if expected != "" {
		f.add(line, key, found, expected, mend)
	}
}

// amountOrList judges one amount that always holds, or a list of when each does.
func (f *faults) amountOrList(key string, line int, n *node, want field) {
	want.shape = shapeMoney
	if n.kind == list {
		want.shape = shapeSections
	}
	f.check(key, line, n, want)
}

func (f *faults) list(key string, line int, n *node, want field) {
	item := field{shape: shapeText}
	switch want.shape {
	case shapeSections:
		item = field{shape: shapeSection, keys: want.keys, rest: want.rest}
	case shapeItems:
		item = field{shape: shapeAny}
		if n.kind == scalar && !n.null {
			return
		}
	}
	switch {
	case n.kind != list:
		f.add(line, key, found(n), "a list", "write it as [a, b]")
	case want.shape == shapeCommand && len(n.items) == 0:
		f.add(line, key, "an empty list", "a command: the program and its arguments", "write it as [program, argument]")
	}
	for i, v := range n.items {
		f.check(fmt.Sprintf("%s[%d]", key, i), v.line, v, item)
	}
}

func (f *faults) textMap(key string, line int, n *node, want field) {
	if n.kind != mapping {
		f.add(line, key, found(n), "a map", "write it as {name: value}")
	}
	item := field{shape: shapeText}
	if want.shape == shapeTree {
		item = field{shape: shapeAny}
	}
	for _, p := range n.pairs {
		f.check(join(key, p.key), p.line, p.value, item)
	}
}

// section judges a map by the keys that it may have.
func (f *faults) section(key string, n *node, want field) {
	if n.kind != mapping {
		f.add(n.line, key, found(n), "a map with "+few(names(want.keys)), "")
		return
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(want.keys, func(k field) bool { return k.name == p.key })
		switch {
		case i >= 0:
			f.check(join(key, p.key), p.line, p.value, want.keys[i])
		case want.rest != "":
			f.check(join(key, p.key), p.line, p.value, field{shape: want.rest})
		default:
			known := names(want.keys)
			f.add(p.line, join(key, p.key), "the unknown key "+quote(p.key), someOf(p.key, known), meant(p.key, known))
		}
	}
	for _, k := range want.keys {
		if k.must && !f.lenient && n.get(k.name) == nil {
			f.add(n.line, key, "no "+k.name, "the key "+k.name+": "+k.doc, "")
		}
	}
}

// named judges a map from names to sections.
func (f *faults) named(key string, n *node, want field) {
	if n.kind != mapping {
		f.add(n.line, key, found(n), "a map from names to their descriptions", "")
		return
	}
	for _, p := range n.pairs {
		if expected, mend := want.nameShape().scalarFault(p.key, nil); expected != "" {
			f.add(p.line, key, quote(p.key), expected, mend)
		}
		f.section(join(key, p.key), p.value, want)
	}
}

// found describes a value that is not what it should be.
func found(n *node) string {
	switch {
	case n.null:
		return "nothing"
	case n.kind == scalar:
		return quote(n.text)
	}
	return n.kind.String()
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}
