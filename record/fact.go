package record

import (
	"encoding"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// Fact is one leaf of Facts.
type Fact struct {
	Path  string // names from the root, joined by dots, as "nics.eth0.mtu_bytes"
	Value string
	// Volatile facts differ from moment to moment on one host; a difference
	// in one is no difference between hosts.
	Volatile bool
	// Identity facts name one machine or part: they differ between any two
	// hosts, and Redact removes them.
	Identity bool
}

// Flatten lists every fact that is present, in the order of the fields of
// Facts, lists in their own order and maps by key.
func (f Facts) Flatten() []Fact {
	w := flattener{}
	w.fields(reflect.ValueOf(f), "", Fact{})
	return w.facts
}

type flattener struct{ facts []Fact }

func (w *flattener) fields(v reflect.Value, path string, marks Fact) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag.Get("fact")
		if tag == "-" || tag == "key" {
			continue
		}
		m := marks
		m.Volatile = m.Volatile || tag == "volatile"
		m.Identity = m.Identity || tag == "identity"
		w.value(v.Field(i), join(path, factName(field)), m)
	}
}

func (w *flattener) value(v reflect.Value, path string, marks Fact) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(v.Elem(), path, marks)
		}
	case reflect.Struct:
		w.fields(v, path, marks)
	case reflect.Slice:
		w.list(v, path, marks)
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		for _, k := range keys {
			marks.Path, marks.Value = join(path, k.String()), v.MapIndex(k).String()
			w.facts = append(w.facts, marks)
		}
	default:
		if text := factText(v); text != "" {
			marks.Path, marks.Value = path, text
			w.facts = append(w.facts, marks)
		}
	}
}

// list names the elements by their key fields; a name that occurs again gets
// a number, as two DIMM slots may be labelled alike.
func (w *flattener) list(v reflect.Value, path string, marks Fact) {
	seen := map[string]int{}
	for i := range v.Len() {
		name := elementKey(v.Index(i))
		seen[name]++
		if n := seen[name]; n > 1 {
			name += "#" + strconv.Itoa(n)
		}
		w.value(v.Index(i), join(path, name), marks)
	}
}

func elementKey(v reflect.Value) string {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("fact") == "key" {
			return v.Field(i).String()
		}
	}
	return ""
}

func factName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func factText(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return ""
		}
		return string(text)
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
