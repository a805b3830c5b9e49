package figure

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Font sizes in pixels. A chart is shown at its natural width or smaller, so
// these are what a reader sees.
const (
	textSize  = 12.5
	tickSize  = 11.5
	lineSpace = 1.28
)

// A scene is a drawing under way: SVG elements, and where its texts stand.
type scene struct {
	buf    bytes.Buffer
	width  float64
	height float64
	id     string // prefix of ids inside the drawing
	labels []label
}

// A label is a text that was drawn, with its box in pixels.
type label struct {
	text                     string
	left, top, right, bottom float64
}

// anchors of a text.
const (
	atStart  = "start"
	atMiddle = "middle"
	atEnd    = "end"
)

// A word is a text to draw at a baseline point.
type word struct {
	x, y   float64
	text   string
	anchor string
	class  string
	size   float64 // textSize where 0
	bold   bool
	full   string // the whole text, where text is cut
}

func (s *scene) word(w word) {
	if w.text == "" || math.IsNaN(w.x) || math.IsNaN(w.y) {
		return
	}
	if w.size == 0 {
		w.size = textSize
	}
	s.labels = append(s.labels, boxOf(w))
	s.buf.WriteString(`<text x="` + px(w.x) + `" y="` + px(w.y) + `"`)
	if w.anchor != "" && w.anchor != atStart {
		s.buf.WriteString(` text-anchor="` + w.anchor + `"`)
	}
	classes := strings.TrimSpace(w.class + sizeClass(w.size))
	if w.bold {
		classes = strings.TrimSpace(classes + " bold")
	}
	if classes != "" {
		s.buf.WriteString(` class="` + classes + `"`)
	}
	s.buf.WriteString(">")
	if w.full != "" && w.full != w.text {
		s.buf.WriteString("<title>" + escape(w.full) + "</title>")
	}
	s.buf.WriteString(escape(w.text) + "</text>\n")
}

func sizeClass(size float64) string {
	if size == tickSize {
		return " small"
	}
	return ""
}

// boxOf returns where a text stands.
func boxOf(w word) label {
	width := textWidth(w.text, w.size)
	if w.bold {
		width *= boldFactor
	}
	left := w.x
	switch w.anchor {
	case atMiddle:
		left -= width / 2
	case atEnd:
		left -= width
	}
	return label{w.text, left, w.y - 0.76*w.size, left + width, w.y + 0.24*w.size}
}

// lines draws a wrapped text from a first baseline down.
func (s *scene) lines(w word, texts []string, full string) {
	for i, t := range texts {
		one := w
		one.text = t
		one.y = w.y + float64(i)*lineSpace*textSize
		if i == len(texts)-1 {
			one.full = full
		}
		s.word(one)
	}
}

// axisTitle writes the title under a horizontal axis, about a centre but inside
// the drawing, and returns where the drawing may end.
func (s *scene) axisTitle(title string, centre, y float64) float64 {
	lines, cut := wrap(title, textSize, s.width-8, 2)
	full := ""
	if cut {
		full = title
	}
	half := 0.0
	for _, l := range lines {
		half = math.Max(half, textWidth(l, textSize)/2+2)
	}
	s.lines(word{x: math.Min(math.Max(centre, half), s.width-half), y: y, anchor: atMiddle}, lines, full)
	return math.Ceil(y + float64(max(len(lines), 1)-1)*lineSpace*textSize + 8)
}

// free reports whether no text stands in a box yet.
func (s *scene) free(box label) bool {
	for _, l := range s.labels {
		if l.left < box.right && box.left < l.right && l.top < box.bottom && box.top < l.bottom {
			return false
		}
	}
	return true
}

func (s *scene) line(class string, x1, y1, x2, y2 float64) {
	if anyNaN(x1, y1, x2, y2) {
		return
	}
	s.buf.WriteString(`<path class="` + class + `" d="M` + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2) + `"/>` + "\n")
}

func (s *scene) rect(class, fill string, x, y, w, h float64) {
	if anyNaN(x, y, w, h) || w <= 0 || h <= 0 {
		return
	}
	s.buf.WriteString(`<rect class="` + class + `" x="` + px(x) + `" y="` + px(y) + `" width="` + px(w) + `" height="` + px(h) + `"`)
	if fill != "" {
		s.buf.WriteString(` fill="` + fill + `"`)
	}
	s.buf.WriteString("/>\n")
}

func (s *scene) path(class, d string) {
	if d != "" {
		s.buf.WriteString(`<path class="` + class + `" d="` + d + `"/>` + "\n")
	}
}

// marker draws the n-th shape: so that series differ without colour.
func (s *scene) marker(class string, n int, x, y, r float64) {
	if anyNaN(x, y) {
		return
	}
	at := func(dx, dy float64) string { return px(x+dx*r) + " " + px(y+dy*r) }
	switch n % markerShapes {
	case 0:
		s.buf.WriteString(`<circle class="` + class + `" cx="` + px(x) + `" cy="` + px(y) + `" r="` + px(r) + `"/>` + "\n")
	case 1:
		s.path(class, "M"+at(-0.9, -0.9)+"L"+at(0.9, -0.9)+"L"+at(0.9, 0.9)+"L"+at(-0.9, 0.9)+"Z")
	case 2:
		s.path(class, "M"+at(0, -1.2)+"L"+at(1.1, 0.8)+"L"+at(-1.1, 0.8)+"Z")
	case 3:
		s.path(class, "M"+at(0, -1.3)+"L"+at(1.3, 0)+"L"+at(0, 1.3)+"L"+at(-1.3, 0)+"Z")
	case 4:
		s.path(class, "M"+at(0, 1.2)+"L"+at(1.1, -0.8)+"L"+at(-1.1, -0.8)+"Z")
	case 5:
		s.path(class, "M"+at(-0.4, -1.2)+"L"+at(0.4, -1.2)+"L"+at(0.4, -0.4)+"L"+at(1.2, -0.4)+"L"+at(1.2, 0.4)+"L"+at(0.4, 0.4)+
			"L"+at(0.4, 1.2)+"L"+at(-0.4, 1.2)+"L"+at(-0.4, 0.4)+"L"+at(-1.2, 0.4)+"L"+at(-1.2, -0.4)+"L"+at(-0.4, -0.4)+"Z")
	}
}

const markerShapes = 6

// px writes a coordinate with at most one decimal.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

func anyNaN(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return true
		}
	}
	return false
}

// escape makes a text safe inside SVG elements and attributes, and drops what XML
// cannot hold.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == '\t', r == '\n', r == '\r':
			b.WriteByte(' ')
		case r == unicode.ReplacementChar, unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF, isBidi(r):
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isBidi reports whether r can turn the direction of text that follows it, and so
// show a name as what it is not.
func isBidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F
}
