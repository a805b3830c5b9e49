package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"bakeoff/record"
)

// deviceLine begins a PCI function: "3b:00.0 Ethernet controller: Name" or,
// with its domain, "0001:00:00.0 ...". Without -D, lspci leaves the domain 0000 out.
var deviceLine = regexp.MustCompile(`^([0-9a-f]{4}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:\n]+): (.*)$`)

func isLSPCI(text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		return deviceLine.MatchString(strings.TrimRight(line, "\r\n"))
	}
	return false
}

// readLSPCI reads lspci -vv: links, nodes, vectors and virtual functions.
func readLSPCI(f *Found, text string) error {
	if f.Cards == nil {
		f.Cards = map[string]Card{}
	}
	var c *Card
	flush := func() {
		if c != nil {
			f.Cards[c.Address] = *c
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := deviceLine.FindStringSubmatch(line); m != nil {
			flush()
			domain := m[1]
			if domain == "" {
				domain = "0000:"
			}
			c = &Card{Address: domain + m[2], Class: m[3], Name: m[4]}
			continue
		}
		if c == nil {
			continue
		}
		if err := c.read(strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("%s: %w", c.Address, err)
		}
	}
	flush()
	return nil
}

var (
	speedPart   = regexp.MustCompile(`Speed (\d+(?:\.\d+)?)GT/s`)
	widthPart   = regexp.MustCompile(`Width x(\d+)`)
	payloadPart = regexp.MustCompile(`^MaxPayload (\d+) bytes`)
	vectorPart  = regexp.MustCompile(`MSI-X: Enable[+-] Count=(\d+)`)
	functions   = regexp.MustCompile(`Total VFs: (\d+).*Number of VFs: (\d+)`)
)

// read takes one line of what lspci says of a function.
func (c *Card) read(line string) error {
	key, value, _ := strings.Cut(line, ":")
	switch {
	case key == "LnkCap":
		c.Link.MaximumGTs, c.Link.MaximumWidth = link(value)
	case key == "LnkSta":
		c.Link.GTs, c.Link.Width = link(value)
	case key == "NUMA node":
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("found %q, expected the number of a NUMA node", line)
		}
		c.NUMANode = &n
	case key == "Kernel driver in use":
		c.Driver = strings.TrimSpace(value)
	}
	if m := payloadPart.FindStringSubmatch(line); m != nil && c.Link.MaximumGTs == nil {
		// The control register's line comes after the capability's, before the link's.
		c.Link.PayloadBytes = number(m[1])
	}
	if m := vectorPart.FindStringSubmatch(line); m != nil {
		c.Vectors = number(m[1])
	}
	if m := functions.FindStringSubmatch(line); m != nil {
		c.MaximumVFs, c.VFs = number(m[1]), number(m[2])
	}
	return nil
}

// link reads a link's speed and width. "unknown" and x0 stand for none.
func link(text string) (gts *float64, lanes *int) {
	if m := speedPart.FindStringSubmatch(text); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			gts = &v
		}
	}
	if m := widthPart.FindStringSubmatch(text); m != nil {
		if n := number(m[1]); n != nil && *n > 0 {
			lanes = n
		}
	}
	return gts, lanes
}

func number(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return &n
}

// PCIe finds the link of a function by its address.
func (f *Found) PCIe(address string) (record.PCIe, bool) {
	c, ok := f.Cards[address]
	return c.Link, ok
}
