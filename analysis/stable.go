package analysis

import (
	"math"
	"reflect"
	"strconv"
)

// resultDigits is how many significant digits a result keeps: more than any
// measurement has, and few enough that processors which fuse multiplication and
// addition, and those which do not, print the same.
const resultDigits = 10

// stabilise rounds every number of a result to resultDigits. What is no number,
// and so was not computed, is written as zero: JSON has nothing else for it,
// and the verdict beside it says invalid.
func stabilise(r *Result) { stabiliseValue(reflect.ValueOf(r).Elem()) }

func stabiliseValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(stable(v.Float()))
	case reflect.Pointer:
		if !v.IsNil() {
			// A copy: the value may belong to the record.
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			stabiliseValue(copied.Elem())
			v.Set(copied)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				stabiliseValue(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			stabiliseValue(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Float64 {
			return
		}
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.ValueOf(stable(v.MapIndex(k).Float())))
		}
	}
}

func stable(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', resultDigits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
