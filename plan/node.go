package plan

// A node is one value of a plan file: text, a list or a map, with its line.
// Nodes are never changed after they were read: setting a path copies.
type node struct {
	kind  kind
	line  int
	text  string
	null  bool // nothing was written, or null
	items []*node
	pairs []pair
}

type kind uint8

const (
	scalar kind = iota
	list
	mapping
)

// A pair is one key of a map with its value.
type pair struct {
	key   string
	line  int // of the key
	value *node
}

// String names the kind for error messages.
func (k kind) String() string {
	switch k {
	case list:
		return "a list"
	case mapping:
		return "a map"
	}
	return "a single value"
}

// get returns the value of a key of a map, nil where there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// with returns a copy of the map n in which the keys lead to the value; maps
// that are missing on the way are made. A nil n is an empty map.
func (n *node) with(value *node, line int, keys ...string) *node {
	if len(keys) == 0 {
		return value
	}
	out := &node{kind: mapping, line: line}
	if n != nil && n.kind == mapping {
		out.line, out.pairs = n.line, append([]pair(nil), n.pairs...)
	}
	for i, p := range out.pairs {
		if p.key == keys[0] {
			out.pairs[i] = pair{p.key, line, p.value.with(value, line, keys[1:]...)}
			return out
		}
	}
	var none *node
	out.pairs = append(out.pairs, pair{keys[0], line, none.with(value, line, keys[1:]...)})
	return out
}

// plain returns the value as strings, []any and map[string]any.
func (n *node) plain() any {
	switch n.kind {
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			out[p.key] = p.value.plain()
		}
		return out
	}
	return n.text
}
