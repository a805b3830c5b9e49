package plan

import "encoding/json"

// Schema returns the JSON Schema (draft 2020-12) of a plan file, for editors
// and other programs. It is made from the tables that the parser checks by. It
// cannot express everything that Parse refuses: references between parts,
// paths that name nothing, and engines' parameters are left to Parse.
func Schema() ([]byte, error) {
	s := sectionSchema(field{keys: topFields()})
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "bakeoff plan"
	s["description"] = "A bake-off as data. Every key is explained in plan.md."
	s["properties"].(object)["factors"] = factorsSchema()
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

type object = map[string]any

// sectionSchema describes a map of known keys.
func sectionSchema(f field) object {
	properties := object{}
	var required []string
	for _, k := range f.keys {
		s := k.schema()
		s["description"] = k.doc
		properties[k.name] = s
		// Inside a description, levels may set what must be there.
		if k.must && (k.name == "title" || k.name == "workloads" || f.name == "primary") {
			required = append(required, k.name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": f.rest != ""}
	if required != nil {
		s["required"] = required
	}
	return s
}

// schema describes the value of one key.
func (f field) schema() object {
	switch f.shape {
	case shapeSection:
		return sectionSchema(f)
	case shapeNamed:
		pattern := namePattern
		switch f.nameShape() {
		case shapeMeasure:
			pattern = measurePattern
		case shapeInterface:
			pattern = interfacePattern
		}
		return object{"type": "object", "propertyNames": object{"pattern": pattern}, "additionalProperties": sectionSchema(f)}
	case shapeSections:
		return object{"type": "array", "items": sectionSchema(f)}
	case shapeBrackets:
		return object{"anyOf": []any{shapeMoney.scalarSchema(), object{"type": "array", "items": sectionSchema(f), "minItems": 1}}}
	case shapeTexts:
		return object{"type": "array", "items": textSchema()}
	case shapeCommand:
		return object{"type": "array", "items": textSchema(), "minItems": 1}
	case shapeMap:
		return object{"type": "object", "additionalProperties": textSchema()}
	case shapeTree:
		return object{"type": "object"}
	case shapeEnum:
		return object{"enum": f.values}
	case shapeBool:
		return object{"type": "boolean"}
	}
	return f.shape.scalarSchema()
}

// scalarSchema describes a single value. Where YAML reads plain digits as a
// number, both forms are allowed, but only for keys that need no unit.
func (s shape) scalarSchema() object {
	const number = `(0|[1-9][0-9]*)(\.[0-9]+)?`
	pattern := func(p string) object { return object{"type": "string", "pattern": "^" + p + "$"} }
	or := func(a, b object) object { return object{"anyOf": []any{a, b}} }
	switch s {
	case shapeLine:
		line := textSchema()
		line["minLength"], line["maxLength"] = 1, maxLine
		return line
	case shapeCount, shapeSeed:
		return or(object{"type": "integer", "minimum": 0}, pattern(number+` ?[kKMGT]?`))
	case shapePositive:
		return or(object{"type": "integer", "minimum": 1}, pattern(number+` ?[kKMGT]?`))
	case shapeFloat:
		return object{"type": "number"}
	case shapeDuration:
		return or(object{"const": 0}, pattern(`(`+number+`(ns|us|µs|μs|ms|s|m|h|d))+`))
	case shapeRate:
		return or(object{"type": "number", "exclusiveMinimum": 0}, pattern(number+` ?[kKMGT]?(/s)?`))
	case shapePercent:
		return pattern(number + ` ?%`)
	case shapeMoney:
		return pattern(`[0-9,]+(\.[0-9]+)? [A-Z]{3}`)
	case shapeTariff:
		return pattern(`[0-9,]+(\.[0-9]+)? [A-Z]{3}/kWh`)
	case shapeGrid:
		return pattern(number + ` g/kWh`)
	case shapeCPUs:
		return or(object{"type": "integer", "minimum": 0}, pattern(`[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*`))
	case shapeName:
		// A name may look like a number, or be the engine null.
		return object{"anyOf": []any{object{"type": "integer", "minimum": 0}, object{"type": "null"}, object{"type": "string", "pattern": namePattern}}}
	case shapeURL:
		return pattern(`[A-Za-z][A-Za-z0-9+.-]*:.+`)
	}
	return textSchema()
}

// textSchema describes text that YAML may read as a number or a boolean.
func textSchema() object {
	return object{"type": []string{"string", "number", "integer", "boolean"}}
}

// factorsSchema describes factor -> level -> path -> value.
func factorsSchema() object {
	level := object{
		"type":                 "object",
		"propertyNames":        object{"pattern": `^(hosts|services|workloads|settings)\.[^.]+\..+$`},
		"additionalProperties": object{"type": []string{"string", "number", "integer", "boolean", "array", "object"}},
	}
	factor := object{"type": "object", "minProperties": 2, "additionalProperties": level}
	return object{
		"type": "object", "minProperties": 1, "description": topField("factors").doc,
		"propertyNames":        object{"pattern": namePattern, "not": object{"const": WorkloadFactor}},
		"additionalProperties": factor,
	}
}

// topField returns the description of one of a plan's keys.
func topField(name string) field {
	for _, f := range topFields() {
		if f.name == name {
			return f
		}
	}
	return field{}
}
