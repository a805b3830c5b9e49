package population

import "strconv"

// Lines is an Encoder that writes rows as text, a line each: fields with a
// separator between them, decimals with two digits after the point. It suits COPY and LOAD
// DATA: no field holds a tab, a bar, a backslash or a line's end.
type Lines struct {
	Buffer    []byte
	Separator byte
	Rows      int64
}

// Int writes a number.
func (l *Lines) Int(v int64) { l.Buffer = append(strconv.AppendInt(l.Buffer, v, 10), l.Separator) }

// Decimal writes hundredths.
func (l *Lines) Decimal(hundredths int64) {
	l.Buffer = append(AppendDecimal(l.Buffer, hundredths), l.Separator)
}

// Date writes a day as 1992-01-31.
func (l *Lines) Date(d Date) { l.Buffer = append(d.Append(l.Buffer), l.Separator) }

// Text writes a text as it is.
func (l *Lines) Text(b []byte) { l.Buffer = append(append(l.Buffer, b...), l.Separator) }

// End ends the line.
func (l *Lines) End() {
	l.Rows++
	l.Buffer[len(l.Buffer)-1] = '\n'
}

// AppendDecimal appends hundredths as a decimal number with two digits after
// the point.
func AppendDecimal(b []byte, hundredths int64) []byte {
	if hundredths < 0 {
		b, hundredths = append(b, '-'), -hundredths
	}
	b = strconv.AppendInt(b, hundredths/100, 10)
	return append(b, '.', byte('0'+hundredths/10%10), byte('0'+hundredths%10))
}
