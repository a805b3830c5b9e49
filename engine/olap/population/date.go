package population

import "time"

// Date is a day of the population: days since 1 January 1992.
type Date int32

// The days of clause 4.2.3.
const (
	days        = 2557 // 1 January 1992 to 31 December 1998
	currentDate = 1263 // 17 June 1995
	lastOrder   = days - (maxShip + maxReceipt) - 1
	maxShip     = 121 // days from order to shipping
	maxReceipt  = 30  // days from shipping to receipt
	minCommit   = 30  // days from order to the date that was promised
	maxCommit   = 90
)

func firstDay() time.Time { return time.Date(1992, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Time is midnight of the day, UTC.
func (d Date) Time() time.Time { return firstDay().AddDate(0, 0, int(d)) }

// UnixDays is the day's number since 1 January 1970.
func (d Date) UnixDays() int32 { return int32(d) + 8035 }

// DayOfMonth is 1 to 31.
func (d Date) DayOfMonth() int {
	i := int(d)*len(time.DateOnly) + len("1992-01-")
	return int(dateTexts[i]-'0')*10 + int(dateTexts[i+1]-'0')
}

// Append appends the day as 1992-01-31.
func (d Date) Append(b []byte) []byte {
	i := int(d) * len(time.DateOnly)
	return append(b, dateTexts[i:i+len(time.DateOnly)]...)
}

// String is the day as 1992-01-31.
func (d Date) String() string { return string(d.Append(nil)) }

// dateTexts are the texts of all days, one after another.
var dateTexts = func() string {
	var b []byte
	for i := range days {
		b = Date(i).Time().AppendFormat(b, time.DateOnly)
	}
	return string(b)
}()
