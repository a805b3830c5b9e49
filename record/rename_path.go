package record

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

const classDirectory = "directory"

// pathPattern matches absolute paths of two or more names.
var pathPattern = regexp.MustCompile(`/[A-Za-z0-9._@+~%-]+(?:/[A-Za-z0-9._@+~%-]+)+`)

// homeRoot matches a user's home directory at the start of a path.
var homeRoot = regexp.MustCompile(`^/(?:home|Users)/[^/]+`)

// paths replaces the directories of a user's own absolute paths, and keeps the
// names of the files in them.
func (r *renamer) paths(s string) string {
	var b strings.Builder
	last := 0
	for _, m := range pathPattern.FindAllStringIndex(s, -1) {
		if !startsPath(s, m[0]) {
			continue
		}
		b.WriteString(s[last:m[0]])
		found := s[m[0]:m[1]]
		if _, known := r.directories[found]; known || strings.HasPrefix(s[m[1]:], "/") {
			b.WriteString(r.directory(found))
		} else {
			b.WriteString(r.directory(path.Dir(found)) + "/" + path.Base(found))
		}
		last = m[1]
	}
	return b.String() + s[last:]
}

// startsPath reports whether a slash begins an absolute path: behind a space, a
// quote, = or the like, an option's letter, or the scheme of a URL without a host.
func startsPath(s string, at int) bool {
	before := s[:at]
	if before == "" || strings.HasSuffix(before, "://") {
		return true
	}
	last := before[len(before)-1]
	if strings.HasSuffix(before[:len(before)-1], "-") && wordByte(last) {
		return len(before) == 2 || !wordByte(before[len(before)-3])
	}
	return !wordByte(last) && !strings.ContainsRune("/.~%+-", rune(last))
}

// directory returns the stand-in for a directory. Those that every system has
// stay, and of a home the user's stand-in.
func (r *renamer) directory(dir string) string {
	if r.issued[dir] || everywhere(dir) {
		return dir
	}
	if s, ok := r.directories[dir]; ok {
		return s
	}
	root := ""
	if home := homeRoot.FindString(dir); home != "" {
		root = path.Dir(home) + "/" + r.name(classUser, path.Base(home))
	}
	s := root
	if root == "" || dir != homeRoot.FindString(dir) {
		r.counts[classDirectory]++
		s = root + "/" + standIn(classDirectory, r.counts[classDirectory])
	}
	r.directories[dir], r.issued[s] = s, true
	return s
}

// everywhere reports whether a directory is part of the system (Filesystem
// Hierarchy Standard 3.0) and says nothing of who uses it.
func everywhere(dir string) bool {
	names := strings.Split(strings.Trim(dir, "/"), "/")
	if slices.Contains([]string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "snap", "sys", "usr", "var"}, names[0]) {
		return true
	}
	return len(names) == 1 && slices.Contains([]string{"home", "media", "mnt", "opt", "root", "srv", "tmp", "Users"}, names[0])
}

// findPaths notes every directory of a text, the ones above included, so that
// each is known where it stands alone.
func (r *renamer) findPaths(s string) {
	for _, m := range pathPattern.FindAllStringIndex(s, -1) {
		if !startsPath(s, m[0]) {
			continue
		}
		for dir := path.Dir(s[m[0]:m[1]]); dir != "/" && !everywhere(dir); dir = path.Dir(dir) {
			r.directory(dir)
		}
	}
}
