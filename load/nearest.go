package load

// Nearest returns the candidate that a name was most likely meant to be, or ""
// where none is near: by edit distance (Levenshtein, with swapped neighbours
// counting once), at most a third of the longer of the two.
func Nearest(name string, candidates []string) string {
	best, at := "", len(name)+1
	for _, c := range candidates {
		d := editDistance(name, c)
		if d < at && d <= max(1, max(len(name), len(c))/3) {
			best, at = c, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance, by bytes.
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
