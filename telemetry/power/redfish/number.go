package redfish

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// number is a JSON number that may be missing. Services write null, "", "N/A"
// or nothing where they have none, and some write numbers as strings.
type number struct {
	value float64
	ok    bool
}

func (n *number) UnmarshalJSON(data []byte) error {
	*n = number{}
	text := string(bytes.TrimSpace(data))
	if len(text) > 0 && text[0] == '"' {
		if json.Unmarshal(data, &text) != nil {
			return nil
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = number{v, true}
	}
	return nil
}

// text is a JSON string, or the text of a number where a service wrote one.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
		return nil
	}
	var n json.Number
	if json.Unmarshal(data, &n) == nil {
		*t = text(n)
	}
	return nil
}

// link points to another resource.
type link struct {
	ID string `json:"@odata.id"`
}
