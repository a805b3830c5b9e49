//go:build !race || sqlite_c

package sqlite

const slow = false
