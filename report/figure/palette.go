package figure

import (
	"sort"
	"strconv"
	"strings"
)

// Colours maps custom properties to colours.
type Colours map[string]string

// Light returns the colours for light surroundings and print.
func Light() Colours {
	return Colours{
		"paper": "#ffffff", "wash": "#f5f6f4", "ink": "#1c2126", "muted": "#5a636c", "rule": "#d3d8db",
		"grid": "#e1e5e7", "edge": "#7d868e", "band": "#efece1", "link": "#1a5a96",
		"good": "#17694a", "bad": "#a63116", "same": "#255f99", "open": "#6b5a12", "void": "#7a2860",
		"c0": "#1f5f99", "c1": "#b4501c", "c2": "#1b7558", "c3": "#76479a", "c4": "#80660a", "c5": "#4d5866",
	}
}

// Dark returns the colours for dark surroundings.
func Dark() Colours {
	return Colours{
		"paper": "#15181b", "wash": "#1e2226", "ink": "#e6e8ea", "muted": "#a3abb3", "rule": "#3a4148",
		"grid": "#2a2f34", "edge": "#808a94", "band": "#2d2b24", "link": "#8cbcf0",
		"good": "#6cc7a0", "bad": "#f09a7c", "same": "#8cbcf0", "open": "#d8c26a", "void": "#e29ac8",
		"c0": "#7db4ee", "c1": "#f0986a", "c2": "#68c7a2", "c3": "#c5a0e8", "c4": "#d6bb58", "c5": "#aab4c0",
	}
}

// Palette returns the style sheet's custom properties: light, and dark where the
// reader's surroundings prefer it; print is always light.
func Palette() string {
	return ":root{color-scheme:light dark;" + Light().css() + "}\n" +
		"@media screen and (prefers-color-scheme:dark){:root{" + Dark().css() + "}}\n"
}

func (c Colours) css() string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString("--" + name + ":" + c[name] + ";")
	}
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }
