package claim

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// parseExpression reads arithmetic over figures:
//
//	(a - b) / a * 100            named values and exact numbers
//	throughput[ip=4, load=read]  a measure at levels that select one row
//	sum(tpm[system=new])         also min and max, over every row selected
//	ceil(work / each)            rounded up to whole ones
//	'8,760 h' * power            an exact number with a unit
func parseExpression(text string) (expression, error) {
	p := &parser{text: text}
	e, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("%q is left over", p.text[p.at:])
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q, at character %d: %w", text, p.at+1, err)
	}
	return e, nil
}

type parser struct {
	text  string
	at    int
	depth int
}

// maxDepth bounds how deeply an expression nests.
const maxDepth = 100

// peek returns the next character that is not a space, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\n' || p.text[p.at] == '\t') {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) sum() (expression, error)     { return p.chain("+-", p.product) }
func (p *parser) product() (expression, error) { return p.chain("*/", p.factor) }

func (p *parser) chain(ops string, next func() (expression, error)) (expression, error) {
	left, err := next()
	for err == nil && p.peek() != 0 && strings.IndexByte(ops, p.peek()) >= 0 {
		op := p.text[p.at]
		p.at++
		var right expression
		right, err = next()
		left = operation{op, left, right}
	}
	return left, err
}

func (p *parser) factor() (expression, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	c := p.peek()
	switch {
	case c == '(':
		p.at++
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		return e, p.expect(')')
	case c == '\'':
		return p.quoted()
	case c >= '0' && c <= '9':
		return p.number()
	case letter(c):
		return p.named()
	}
	return nil, fmt.Errorf("expected a figure's name, a number or a parenthesis")
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *parser) expect(c byte) error {
	if p.peek() != c {
		return fmt.Errorf("expected %q", string(c))
	}
	p.at++
	return nil
}

// take returns the characters from here on that belong.
func (p *parser) take(belongs func(byte) bool) string {
	start := p.at
	for p.at < len(p.text) && belongs(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) number() (expression, error) {
	return exactNumber(p.take(func(c byte) bool { return c >= '0' && c <= '9' || c == '.' }))
}

func (p *parser) quoted() (expression, error) {
	p.at++
	text := p.take(func(c byte) bool { return c != '\'' })
	if err := p.expect('\''); err != nil {
		return nil, err
	}
	return exactNumber(text)
}

func exactNumber(text string) (expression, error) {
	n, err := ParseNumber("exactly "+strings.TrimSpace(text), unit.One())
	n.Text = text
	return constant{n}, err
}

func (p *parser) named() (expression, error) {
	name := p.take(func(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c == '.' })
	switch p.peek() {
	case '(':
		if !slices.Contains([]string{"sum", "min", "max", "ceil"}, name) {
			return nil, fmt.Errorf("no function %q; there are sum, min, max and ceil", name)
		}
		p.at++
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		return call{name, arg}, p.expect(')')
	case '[':
		p.at++
		text := p.take(func(c byte) bool { return c != ']' })
		filter, err := parseFilter(text)
		if err != nil {
			return nil, err
		}
		return reference{name, filter}, p.expect(']')
	}
	return reference{name: name}, nil
}

// parseFilter reads "factor=level, factor=level".
func parseFilter(text string) (record.Cell, error) {
	var filter record.Cell
	for _, pair := range strings.Split(text, ",") {
		factor, level, ok := strings.Cut(pair, "=")
		factor, level = strings.TrimSpace(factor), strings.TrimSpace(level)
		if !ok || factor == "" || level == "" {
			return nil, fmt.Errorf("levels %q: expected factor=level, parted by commas", text)
		}
		filter = append(filter, record.Level{Factor: factor, Level: level})
	}
	return filter, nil
}
