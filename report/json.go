package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"sort"
	"strings"

	"bakeoff/analysis"
)

// JSONFormat and JSONVersion identify the JSON report. The version changes when a
// member is renamed, removed or changes its meaning; members may be added without.
const (
	JSONFormat  = "bakeoff-report"
	JSONVersion = 1
)

// JSON writes the whole result as one JSON object:
//
//	{"format": "bakeoff-report", "version": 1, "result": {...}}
//
// The result has the members of [analysis.Result] under the names of its json
// tags, in that order, with every digit. All values are in base units (s, B, W, J,
// ops/s, B/s, 1). A number that is not defined, as the bound of an interval from one
// trial, is null: JSON has no other way to say so. Times are RFC 3339.
func JSON(w io.Writer, r *analysis.Result) error {
	var compact, out bytes.Buffer
	fmt.Fprintf(&compact, `{"format":%q,"version":%d,"result":`, JSONFormat, JSONVersion)
	if err := encode(&compact, reflect.ValueOf(*r)); err != nil {
		return fmt.Errorf("encoding the JSON report: %w", err)
	}
	compact.WriteByte('}')
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("encoding the JSON report: %w", err)
	}
	out.WriteByte('\n')
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	return nil
}

// encode writes v as encoding/json would, but numbers that are not finite as null.
func encode(b *bytes.Buffer, v reflect.Value) error {
	if v.CanInterface() {
		if m, ok := v.Interface().(json.Marshaler); ok {
			text, err := m.MarshalJSON()
			b.Write(text)
			return err
		}
	}
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			b.WriteString("null")
			return nil
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return encode(b, v.Elem())
		}
	case reflect.Slice:
		return encodeSlice(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.Struct:
		return encodeStruct(b, v)
	}
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

func encodeSlice(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[') // an empty list, not null: there is nothing, and that is known
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(k.String())
		if err != nil {
			return err
		}
		b.Write(append(name, ':'))
		if err := encode(b, v.MapIndex(k)); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	b.WriteByte('}')
	return nil
}

func encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || strings.Contains(options, "omitempty") && isEmpty(v.Field(i)) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(b, "%q:", name)
		if err := encode(b, v.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	b.WriteByte('}')
	return nil
}

// isEmpty is what encoding/json takes for empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
