#!/bin/sh
# Fuzzes every Fuzz function of the module for the time given, one after another.
set -eu
time=${1:-20s}
grep -rEl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r name; do
		echo "$dir $name"
		go test "$dir" -run '^$' -fuzz "^$name\$" -fuzztime "$time" </dev/null
	done
done
