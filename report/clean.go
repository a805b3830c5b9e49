package report

import (
	"reflect"
	"strings"
	"unicode"

	"bakeoff/analysis"
)

// cleaned returns a copy of a result that is safe to show: characters that would
// change how the text around them is read (controls, direction overrides) are
// replaced by U+FFFD, so that a name looks like what it is.
func cleaned(r *analysis.Result) *analysis.Result {
	v := reflect.New(reflect.TypeOf(*r)).Elem()
	copyClean(v, reflect.ValueOf(*r))
	out := v.Interface().(analysis.Result)
	return &out
}

// copyClean copies src to dst, of the same type, with every text cleaned.
func copyClean(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.String:
		dst.SetString(cleanText(src.String()))
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			copyClean(dst.Index(i), src.Index(i))
		}
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			k, v := reflect.New(src.Type().Key()).Elem(), reflect.New(src.Type().Elem()).Elem()
			copyClean(k, it.Key())
			copyClean(v, it.Value())
			dst.SetMapIndex(k, v)
		}
	case reflect.Pointer:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.New(src.Type().Elem()))
		copyClean(dst.Elem(), src.Elem())
	case reflect.Struct:
		dst.Set(src) // unexported fields, as a time's, are copied as they are
		for i := range src.NumField() {
			if src.Type().Field(i).IsExported() {
				copyClean(dst.Field(i), src.Field(i))
			}
		}
	default:
		dst.Set(src)
	}
}

func cleanText(s string) string {
	if !strings.ContainsFunc(s, misleading) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if misleading(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// misleading reports whether a character is unseen and changes what is seen.
func misleading(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u200e', '\u200f', '\u061c', '\ufeff':
		return true
	}
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
