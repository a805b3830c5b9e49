package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/internal/spelling"
	"bakeoff/unit"
)

// Params holds an engine's parameters, read by its Description: what a plan or
// a command line gave, and the defaults for the rest.
type Params struct {
	engine string
	values map[string]value
}

// value is one parameter as it will act.
type value struct {
	kind  ParameterType
	given bool
	text  string // as written in a plan; "" where neither given nor with a default
	data  any    // string, bool, int64, float64, time.Duration, []any or map[string]any; nil where absent
}

// ReadParams reads parameters by an engine's description. It refuses unknown
// ones, naming the nearest right one, and values that do not fit their type. The
// error holds all that is wrong, one line each.
func ReadParams(engine string, d Description, given map[string]any) (*Params, error) {
	p := &Params{engine: engine, values: make(map[string]value, len(d.Parameters))}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(d.Parameters, func(q Parameter) bool { return q.Name == name }) {
			errs = append(errs, unknownParameter(engine, d, name))
		}
	}
	for _, param := range d.Parameters {
		v, err := readValue(param, given)
		if err != nil {
			errs = append(errs, fmt.Errorf("engine %s: parameter %q: %w", engine, param.Name, err))
			continue
		}
		p.values[param.Name] = v
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

func unknownParameter(engine string, d Description, name string) error {
	names := make([]string, len(d.Parameters))
	for i, p := range d.Parameters {
		names[i] = p.Name
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Errorf("engine %s: unknown parameter %q: it takes none of its own", engine, name)
	}
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("engine %s: unknown parameter %q: did you mean %q?", engine, name, near)
	}
	return fmt.Errorf("engine %s: unknown parameter %q: it takes %s", engine, name, strings.Join(names, ", "))
}

func readValue(p Parameter, given map[string]any) (value, error) {
	raw, ok := given[p.Name]
	if !ok {
		if p.Default == "" {
			return value{kind: p.Type}, nil
		}
		raw = p.Default
	}
	v := value{kind: p.Type, given: ok}
	var err error
	switch p.Type {
	case TypeList:
		v.data, err = readList(raw)
	case TypeMap:
		v.data, err = readMap(raw)
	default:
		return readScalar(p, v, raw)
	}
	if err != nil {
		return v, err
	}
	text, err := json.Marshal(v.data)
	if err != nil {
		return v, fmt.Errorf("found %v, expected plain values: %w", raw, err)
	}
	v.text = string(text)
	return v, nil
}

func readScalar(p Parameter, v value, raw any) (value, error) {
	text, err := scalarText(raw)
	if err != nil {
		return v, fmt.Errorf("%w, expected %s", err, expected(p))
	}
	v.text = text
	v.data, err = parseScalar(p, text)
	return v, err
}

// scalarText returns a scalar as it is written in a plan.
func scalarText(raw any) (string, error) {
	switch x := raw.(type) {
	case string:
		return x, nil
	case bool:
		return strconv.FormatBool(x), nil
	case int:
		return strconv.Itoa(x), nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case uint64:
		return strconv.FormatUint(x, 10), nil
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), nil
	case nil:
		return "", errors.New("found nothing")
	}
	return "", fmt.Errorf("found %v", raw)
}

func parseScalar(p Parameter, text string) (any, error) {
	switch p.Type {
	case TypeString:
		return text, nil
	case TypeBool:
		return parseBool(text)
	case TypeInt:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return unit.ParseCount(text)
	case TypeFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("found %q, expected %s", text, expected(p))
		}
		return f, nil
	case TypeSize:
		return unit.ParseSize(text)
	case TypeDuration:
		return unit.ParseDuration(text)
	case TypeRate:
		if p.Unit == bitsPerSecond {
			return unit.ParseBitRate(text)
		}
		return unit.ParseRate(text)
	case TypePercent:
		return unit.ParsePercent(text)
	case TypeEnum:
		return parseEnum(p, text)
	}
	return nil, fmt.Errorf("the engine describes it with the unknown type %q", p.Type)
}

func parseBool(text string) (any, error) {
	switch text {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return nil, fmt.Errorf("found %q, expected true or false", text)
}

func parseEnum(p Parameter, text string) (any, error) {
	if slices.Contains(p.Values, text) {
		return text, nil
	}
	if near := spelling.Nearest(text, p.Values); near != "" {
		return nil, fmt.Errorf("found %q: did you mean %q?", text, near)
	}
	return nil, fmt.Errorf("found %q, expected %s", text, expected(p))
}

// bitsPerSecond is the unit of a rate that is not in operations.
const bitsPerSecond = "bit/s"

// expected says what a parameter takes, for an error.
func expected(p Parameter) string {
	if p.Type == TypeEnum {
		return "one of " + strings.Join(p.Values, ", ")
	}
	if p.Type == TypeRate && p.Unit == bitsPerSecond {
		return "bits a second, as 100M or 1Gbit/s"
	}
	return map[ParameterType]string{
		TypeString: "text", TypeBool: "true or false", TypeInt: "a whole number, as 100k",
		TypeFloat: "a number", TypeSize: "a size, as 32 or 4K", TypeDuration: "a duration, as 200us",
		TypeRate: "a rate a second, as 30k", TypePercent: "a percentage, as 2%",
		TypeList: "a list", TypeMap: "a map",
	}[p.Type]
}

// readList takes a list of a plan, or the command line's "a,b,c".
func readList(raw any) (any, error) {
	switch x := raw.(type) {
	case []any:
		return x, nil
	case []string:
		return toAny(x), nil
	case map[string]any, nil:
		return nil, fmt.Errorf("found %v, expected a list", raw)
	}
	text, err := scalarText(raw)
	if err != nil {
		return nil, fmt.Errorf("%w, expected a list", err)
	}
	if text == "" {
		return []any{}, nil
	}
	return toAny(strings.Split(text, ",")), nil
}

func toAny(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

// readMap takes a map of a plan, or the command line's "a=1,b=2" or, where the
// values are maps themselves, a JSON object.
func readMap(raw any) (any, error) {
	switch x := raw.(type) {
	case map[string]any:
		return x, nil
	case string:
		if strings.HasPrefix(strings.TrimSpace(x), "{") {
			return readObject(x)
		}
		out := map[string]any{}
		for pair := range strings.SplitSeq(x, ",") {
			key, val, ok := strings.Cut(pair, "=")
			if !ok || strings.TrimSpace(key) == "" {
				return nil, fmt.Errorf("found %q, expected key=value", pair)
			}
			out[strings.TrimSpace(key)] = strings.TrimSpace(val)
		}
		return out, nil
	}
	return nil, fmt.Errorf("found %v, expected a map", raw)
}

func readObject(text string) (any, error) {
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("found %q, expected a JSON object as {\"name\": {\"key\": \"value\"}}: %w", text, err)
	}
	return out, nil
}

// get returns a parameter's value, nil where it is absent. Asking for what the
// description does not have, or as another type, is a bug of the engine.
func (p *Params) get(name string, kinds ...ParameterType) any {
	v, ok := p.values[name]
	if !ok || !slices.Contains(kinds, v.kind) {
		panic(fmt.Sprintf("engine %s does not describe a parameter %q of type %v", p.engine, name, kinds))
	}
	return v.data
}

// lookup returns the value as T, its zero where the parameter is absent.
func lookup[T any](p *Params, name string, kinds ...ParameterType) T {
	v, _ := p.get(name, kinds...).(T)
	return v
}

// String returns a text or one of an enumeration; "" where it is absent.
func (p *Params) String(name string) string {
	return lookup[string](p, name, TypeString, TypeEnum)
}

// Bool returns a switch; false where it is absent.
func (p *Params) Bool(name string) bool { return lookup[bool](p, name, TypeBool) }

// Int returns a whole number; 0 where it is absent.
func (p *Params) Int(name string) int64 { return lookup[int64](p, name, TypeInt) }

// Float returns a number; 0 where it is absent.
func (p *Params) Float(name string) float64 { return lookup[float64](p, name, TypeFloat) }

// Size returns bytes; 0 where it is absent.
func (p *Params) Size(name string) int64 { return lookup[int64](p, name, TypeSize) }

// Duration returns a duration; 0 where it is absent.
func (p *Params) Duration(name string) time.Duration {
	return lookup[time.Duration](p, name, TypeDuration)
}

// Rate returns a rate a second; 0 where it is absent.
func (p *Params) Rate(name string) float64 { return lookup[float64](p, name, TypeRate) }

// Percent returns a percentage as a fraction, 0.02 for 2 %; 0 where it is absent.
func (p *Params) Percent(name string) float64 { return lookup[float64](p, name, TypePercent) }

// List returns a list as the plan has it; nil where it is absent.
func (p *Params) List(name string) []any { return lookup[[]any](p, name, TypeList) }

// Map returns a map as the plan has it; nil where it is absent.
func (p *Params) Map(name string) map[string]any { return lookup[map[string]any](p, name, TypeMap) }

// Strings returns a list of scalars as text; an error where an element is not one.
func (p *Params) Strings(name string) ([]string, error) {
	var out []string
	for i, raw := range p.List(name) {
		text, err := scalarText(raw)
		if err != nil {
			return nil, fmt.Errorf("engine %s: parameter %q, element %d: %w, expected text or a number", p.engine, name, i+1, err)
		}
		out = append(out, text)
	}
	return out, nil
}

// Has says whether a parameter has a value, given or by default.
func (p *Params) Has(name string) bool { return p.values[name].data != nil }

// Given says whether a parameter was given, rather than left at its default.
func (p *Params) Given(name string) bool { return p.values[name].given }

// Effective returns every value that acts as text, defaults included, for the
// record. Parameters without a value are left out.
func (p *Params) Effective() map[string]string {
	out := make(map[string]string, len(p.values))
	for name, v := range p.values {
		if v.data != nil {
			out[name] = v.text
		}
	}
	return out
}
