package self

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// nodeKind names what a value of a JSON document is.
type nodeKind byte

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// A node is one value of a JSON document, with the line it begins on. The
// methods take nil for what is not there.
type node struct {
	kind  nodeKind
	text  string // of a string; of a number or a boolean as written
	line  int
	keys  []string // of an object, in their order
	items []*node
	told  bool // the audit has spoken about it
}

// maxNesting bounds the depth of a report: far above that of any real one.
const maxNesting = 64

// readJSON reads one JSON document. A key that stands twice in an object is
// refused: two readers could take different ones.
func readJSON(src []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	r := &jsonReader{dec: dec}
	for i, c := range src {
		if c == '\n' {
			r.breaks = append(r.breaks, int64(i))
		}
	}
	n, err := r.value(0)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.line(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: expected one JSON value and nothing behind it", r.line())
	}
	return n, nil
}

type jsonReader struct {
	dec    *json.Decoder
	breaks []int64 // where the lines end
}

// line is that of the token read last.
func (r *jsonReader) line() int {
	at := r.dec.InputOffset()
	return 1 + sort.Search(len(r.breaks), func(i int) bool { return r.breaks[i] >= at })
}

func (r *jsonReader) value(depth int) (*node, error) {
	token, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it ends where a value was expected")
	case err != nil:
		return nil, err
	case depth > maxNesting:
		return nil, fmt.Errorf("more than %d levels of nesting", maxNesting)
	}
	n := &node{line: r.line()}
	switch t := token.(type) {
	case json.Delim:
		return n, r.members(n, t, depth)
	case json.Number:
		n.kind, n.text = numberNode, t.String()
	case string:
		n.kind, n.text = stringNode, t
	case bool:
		n.kind, n.text = boolNode, fmt.Sprint(t)
	}
	return n, nil
}

// members reads what an array or an object holds, and its end.
func (r *jsonReader) members(n *node, open json.Delim, depth int) error {
	n.kind = arrayNode
	if open == '{' {
		n.kind = objectNode
	}
	seen := map[string]bool{}
	for r.dec.More() {
		if n.kind == objectNode {
			key, err := r.dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("the key %q stands twice in one object", name)
			}
			seen[name] = true
			n.keys = append(n.keys, name)
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}

// at returns a member of an object, nil where it has none of that name.
func (n *node) at(key string) *node {
	if n == nil {
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
	}
	return nil
}

// list returns the elements of an array.
func (n *node) list() []*node {
	if n == nil || n.kind != arrayNode {
		return nil
	}
	return n.items
}

// str is the text of a string member, "" where there is none.
func (n *node) str(key string) string {
	m := n.at(key)
	if m == nil || m.kind != stringNode {
		return ""
	}
	return m.text
}

// is reports whether a member is true.
func (n *node) is(key string) bool {
	m := n.at(key)
	return m != nil && m.kind == boolNode && m.text == "true"
}

// figures reports whether a value is a number, or a text with a digit in it.
func (n *node) figures() bool {
	return n.kind == numberNode || n.kind == stringNode && strings.ContainsAny(n.text, "0123456789")
}

// untold lists the figures below a value that the audit has not spoken about,
// by their path.
func (n *node) untold(path string, visit func(path string, n *node)) {
	if n.figures() && !n.told {
		visit(path, n)
	}
	for i, item := range n.items {
		step := fmt.Sprintf("%s[%d]", path, i)
		if n.kind == objectNode {
			step = strings.TrimPrefix(path+"."+n.keys[i], ".")
		}
		item.untold(step, visit)
	}
}
