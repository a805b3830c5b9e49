package self

import (
	"strings"
	"testing"
)

func TestReadJSONKnowsLines(t *testing.T) {
	n, err := readJSON([]byte("{\n \"a\": [1.50,\n  {\"b\": \"x2\"}],\n \"c\": null, \"d\": true}"))
	if err != nil {
		t.Fatal(err)
	}
	list := n.at("a").list()
	if len(list) != 2 || list[0].text != "1.50" || list[0].line != 2 || list[1].at("b").line != 3 || list[1].str("b") != "x2" {
		t.Errorf("a is %+v", list)
	}
	if n.at("c").kind != nullNode || !n.is("d") || n.at("d").line != 4 || n.at("e") != nil || n.at("e").at("f") != nil {
		t.Errorf("the rest is %+v", n)
	}
	var paths []string
	n.untold("", func(path string, _ *node) { paths = append(paths, path) })
	if got := strings.Join(paths, " "); got != "a[0] a[1].b" {
		t.Errorf("figures at %q", got)
	}
}

func TestReadJSONRefuses(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"nothing":        {"", "it ends where a value was expected"},
		"two values":     {"1 2", "nothing behind it"},
		"a key twice":    {"{\n\"a\": 1,\n\"a\": 2}", "line 3: the key \"a\" stands twice"},
		"half an object": {"{\"a\": ", "it ends where"},
		"half a list":    {"[1,", "line 1"},
		"a bad number":   {"[012]", "line 1"},
		"too deep":       {strings.Repeat("[", 100) + strings.Repeat("]", 100), "levels of nesting"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readJSON([]byte(tt.src))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, seed := range []string{`{"a": [1, -2.5e3, "x", null, true]}`, "[", `{"a":1,"a":2}`, "\"\\u00e9\"", "[[[[]]]]", "1e400"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := readJSON(src)
		if err != nil {
			return
		}
		lines := strings.Count(string(src), "\n") + 1
		n.untold("", func(path string, n *node) {
			if n.line < 1 || n.line > lines {
				t.Errorf("%s is in line %d of %d", path, n.line, lines)
			}
		})
	})
}
