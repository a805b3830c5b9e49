package main

import "fmt"

// counted is a number of things, as "1 trial" and "2 trials".
func counted[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// verb chooses the form of a verb that goes with a number.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
