//go:build race && !sqlite_c

package sqlite

// slow is true where SQLite's translated code is instrumented, statement by
// statement: a load then takes minutes. The build with sqlite_c is tested for
// races, since what is concurrent is the same.
const slow = true
