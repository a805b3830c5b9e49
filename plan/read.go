package plan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of a plan file, far above any real one. They keep a damaged or
// malicious file, such as one whose aliases multiply, from taking the machine.
const (
	maxSource = 1 << 20 // bytes
	maxNodes  = 20_000  // values, after aliases were followed
	maxDepth  = 16      // levels of nesting
)

// read turns the file into nodes. Everything keeps its text as written: 010
// stays 010, a date stays a date's text, and yes is not a boolean.
func read(src []byte, f *faults) *node {
	switch {
	case len(src) > maxSource:
		f.add(0, "", fmt.Sprintf("%d bytes", len(src)), fmt.Sprintf("a plan of at most %d bytes", maxSource), "")
		return nil
	case !utf8.Valid(src):
		f.add(0, "", "bytes that are not UTF-8", "text in UTF-8", "save the file as UTF-8")
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		syntaxFault(src, err, f)
		return nil
	}
	r := &reader{faults: f, left: maxNodes}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		f.add(0, "", "no plan", "a YAML map with title, workloads and so on", "bakeoff plan new writes one to start from")
		return nil
	}
	n := r.value(doc.Content[0], "", 0)
	if n != nil && n.kind != mapping {
		f.add(n.line, "", n.kind.String(), "a map with title, workloads and so on", "bakeoff plan new writes a plan to start from")
		return nil
	}
	return n
}

// syntaxFault turns the YAML reader's error into a fault with its line.
func syntaxFault(src []byte, err error, f *faults) {
	if _, ok := errors.AsType[*yaml.LoadErrors](err); ok { // of the stream, not of its text
		f.add(0, "", "no YAML document, or several", "exactly one plan in a file", "bakeoff plan new writes a plan to start from")
		return
	}
	line, text := 0, err.Error()
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		line, text = one.Mark.Line, one.Message
	}
	mend := "indent with spaces, never tabs, and put text with : or # in quotes"
	switch {
	case strings.Contains(text, "incompatible YAML document"):
		mend = "leave the %YAML line out"
	case strings.Contains(text, "control characters"):
		mend = "take the control character out"
		line = 1 + bytes.Count(src[:max(0, bytes.IndexFunc(src, isControl))], []byte("\n"))
	}
	f.add(line, "", "what is not YAML ("+text+")", "YAML", mend)
}

func isControl(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) }

// reader copies YAML nodes, with aliases followed, inside its bounds.
type reader struct {
	faults *faults
	left   int // nodes that may still be made
}

// value copies one value; nil after a fault that was noted.
func (r *reader) value(y *yaml.Node, path string, depth int) *node {
	if r.left < 0 {
		return nil // it was noted
	}
	if r.left--; r.left < 0 || depth > maxDepth {
		r.left = -1
		r.faults.add(y.Line, path, "too much nesting, or aliases that multiply", fmt.Sprintf("at most %d values nested at most %d deep", maxNodes, maxDepth), "write values out instead of repeating aliases")
		return nil
	}
	if y.Kind != yaml.AliasNode && y.Style&yaml.TaggedStyle != 0 {
		r.faults.add(y.Line, path, "the tag "+y.Tag, "a value without a tag", "leave the tag out; text is read by what its key expects")
		return nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.value(y.Alias, path, depth+1)
	case yaml.SequenceNode:
		n := &node{kind: list, line: y.Line}
		for i, item := range y.Content {
			if v := r.value(item, fmt.Sprintf("%s[%d]", path, i), depth+1); v != nil {
				n.items = append(n.items, v)
			}
		}
		return n
	case yaml.MappingNode:
		return r.mapping(y, path, depth)
	}
	if i := strings.IndexFunc(y.Value, unprintable); i >= 0 {
		c, _ := utf8.DecodeRuneInString(y.Value[i:])
		r.faults.add(y.Line, path, fmt.Sprintf("the character %U, which does not print", c), "text that is shown as it is", "take the character out")
		return nil
	}
	// The word null stays a word: an engine is called so.
	return &node{kind: scalar, line: y.Line, text: y.Value, null: y.Tag == "!!null" && y.Value != "null"}
}

func (r *reader) mapping(y *yaml.Node, path string, depth int) *node {
	n := &node{kind: mapping, line: y.Line}
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content) && r.left >= 0; i += 2 {
		key := y.Content[i]
		at := join(path, key.Value)
		first, twice := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "" || key.Style&yaml.TaggedStyle != 0:
			r.faults.add(key.Line, path, "a key that is not plain text", "a name", "")
		case strings.IndexFunc(key.Value, unprintable) >= 0:
			r.faults.add(key.Line, at, quote(key.Value), "a key of characters that print", "take the others out")
		case key.Tag == "!!merge":
			r.faults.add(key.Line, at, "the merge key <<", "keys written out", "use an alias for a whole value, or repeat the keys")
		case twice:
			r.faults.add(key.Line, at, fmt.Sprintf("a second %s (the first is on line %d)", quote(key.Value), first), "each key once", "remove one of the two")
		default:
			lines[key.Value] = key.Line
			if v := r.value(y.Content[i+1], at, depth+1); v != nil {
				n.pairs = append(n.pairs, pair{key.Value, key.Line, v})
			}
		}
	}
	return n
}

// unprintable tells characters that would steer a terminal or turn the text
// around them about, wherever the plan's words are shown.
func unprintable(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\u200e', '\u200f':
		return true
	}
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// join appends a key to a path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
