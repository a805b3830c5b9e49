package record

import "time"

// Facts is what one host is at one moment. What could not be found is nil or
// empty, never zero.
type Facts struct {
	Host  string    `json:"host"`
	Taken time.Time `json:"taken"`
}
