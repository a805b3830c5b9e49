// Package spelling finds the name that was meant where another was written.
package spelling

import "strings"

// Nearest returns the name that s was probably meant to be, "" where none is
// near: by Distance without regard to case, at most one letter more than a
// third of those of s.
func Nearest(s string, names []string) string {
	best, least := "", min(len(s)/3+2, most)
	for _, n := range names {
		if d := Distance(strings.ToLower(s), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// most bounds the words that are compared: what is longer is far from anything.
const most = 64

// Distance is the number of letters to insert, delete, change or swap with
// their neighbour that turn a into b (Damerau's restricted edit distance).
func Distance(a, b string) int {
	if len(a) > most || len(b) > most {
		return most
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
