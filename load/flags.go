package load

import "strings"

// A Flag is one parameter of an engine as a command line takes it. It has the
// methods that flag and pflag want of a value.
type Flag struct {
	Parameter Parameter
	text      string
	set       bool
}

// Flags returns a flag for each of an engine's parameters.
func Flags(d Description) []*Flag {
	out := make([]*Flag, len(d.Parameters))
	for i, p := range d.Parameters {
		out[i] = &Flag{Parameter: p, text: p.Default}
	}
	return out
}

// FlagValues returns what was given, as ReadParams takes it.
func FlagValues(flags []*Flag) map[string]any {
	out := map[string]any{}
	for _, f := range flags {
		if f.set {
			out[f.Parameter.Name] = f.text
		}
	}
	return out
}

// Set takes the flag's text, or says what was expected.
func (f *Flag) Set(text string) error {
	if _, err := readValue(f.Parameter, map[string]any{f.Parameter.Name: text}); err != nil {
		return err
	}
	f.text, f.set = text, true
	return nil
}

// String returns the flag's text.
func (f *Flag) String() string { return f.text }

// Type names what the flag takes, for its help.
func (f *Flag) Type() string { return string(f.Parameter.Type) }

// Usage describes the flag in one line.
func (f *Flag) Usage() string {
	u := f.Parameter.Doc
	if f.Parameter.Type == TypeEnum {
		u += " (" + strings.Join(f.Parameter.Values, ", ") + ")"
	}
	if f.Parameter.Unit != "" {
		u += " [" + f.Parameter.Unit + "]"
	}
	return u
}
