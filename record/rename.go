package record

import (
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A renamer gives every name, address, serial number and secret of a record a
// stand-in: the same one everywhere, of the same form, so that a redacted plan
// still parses and what differed still differs.
type renamer struct {
	stand       map[string]string // value -> stand-in
	issued      map[string]bool   // every stand-in
	directories map[string]string // directory -> stand-in: never words of their own
	counts      map[string]int    // class -> values renamed so far
	words       *regexp.Regexp    // the values that are replaced wherever they stand; nil before prepare
	global      map[string]string // those, in both spellings
}

// The classes of what is renamed.
const (
	classHost   = "host"
	classUser   = "user"
	classIPv4   = "ipv4"
	classIPv6   = "ipv6"
	classMAC    = "mac"
	classUUID   = "uuid"
	classSerial = "serial"
	classSecret = "secret"
)

// shortest is the length from which a value is replaced wherever it stands as
// a word of its own; shorter ones only where they are known to be names.
const shortest = 3

func newRenamer() *renamer {
	return &renamer{stand: map[string]string{}, directories: map[string]string{}, issued: map[string]bool{}, counts: map[string]int{}}
}

// saysNothing reports whether a value is one that many machines share.
func saysNothing(v string) bool {
	switch strings.ToLower(v) {
	case "", "localhost", "none", "unknown", "not specified", "default string", "to be filled by o.e.m.", "n/a":
		return true
	}
	return strings.Trim(v, "0:-. ") == ""
}

// name returns the stand-in for a value, a new one where it was not seen
// before. A stand-in is its own.
func (r *renamer) name(class, value string) string {
	if saysNothing(value) || r.issued[value] {
		return value
	}
	if s, ok := r.stand[value]; ok {
		return s
	}
	r.counts[class]++
	s := standIn(class, r.counts[class])
	r.stand[value], r.issued[s] = s, true
	return s
}

// standIn makes the n-th stand-in of a class. Addresses are of the ranges set
// aside for documentation and benchmarks (RFC 5737, RFC 2544, RFC 3849) or
// locally administered.
func standIn(class string, n int) string {
	switch class {
	case classIPv4:
		if n < 255 {
			return fmt.Sprintf("192.0.2.%d", n)
		}
		return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255)
	case classIPv6:
		return fmt.Sprintf("2001:db8::%x:%x", n>>16, n&0xffff)
	case classMAC:
		return fmt.Sprintf("02:00:00:%02x:%02x:%02x", n>>16&255, n>>8&255, n&255)
	case classUUID:
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n)
	}
	return fmt.Sprintf("%s-%d", class, n)
}

// prepare fixes the values that are replaced wherever they stand: those seen
// so far. Each has two spellings, as it is and as it stands in a file's name.
func (r *renamer) prepare() {
	r.global = map[string]string{}
	var words []string
	for value, s := range r.stand {
		if len(value) < shortest {
			continue
		}
		r.global[value] = s
		r.global[fileName(value)] = fileName(s)
	}
	for w := range r.global {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		if d := len(b) - len(a); d != 0 { // longest first: a name may begin another
			return d
		}
		return strings.Compare(a, b)
	})
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	if len(words) > 0 {
		r.words = regexp.MustCompile(strings.Join(words, "|"))
	}
}

// known replaces the values that were found beforehand.
func (r *renamer) known(s string) string {
	if r.words == nil {
		return s
	}
	return replaceWords(r.words, s, func(found string) string { return r.global[found] })
}

// text replaces known values and whatever has the form of an address, a UUID,
// a user's path or a secret.
func (r *renamer) text(s string) string {
	s = r.known(r.paths(s))
	s = homePattern.ReplaceAllStringFunc(s, func(found string) string {
		at := strings.LastIndexByte(found, '/') + 1
		return found[:at] + r.name(classUser, found[at:])
	})
	s = secretPattern.ReplaceAllStringFunc(s, func(found string) string {
		at := secretPattern.FindStringSubmatchIndex(found)[2]
		return found[:at] + r.name(classSecret, found[at:])
	})
	for _, p := range []struct {
		class   string
		pattern *regexp.Regexp
		is      func(string) bool
	}{
		{classUUID, uuidPattern, func(string) bool { return true }},
		{classMAC, macPattern, func(string) bool { return true }},
		{classIPv4, ipv4Pattern, namesHost},
		{classIPv6, ipv6Candidate, namesHost},
	} {
		s = replaceWords(p.pattern, s, func(found string) string {
			if !p.is(found) {
				return found
			}
			return r.name(p.class, found)
		})
	}
	return s
}

var (
	homePattern   = regexp.MustCompile(`/(?:home|Users)/[^/\s"':,;]+`)
	ipv6Candidate = regexp.MustCompile(`[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*`)
	// secretPattern matches a secret behind its name, in a command line, a
	// URL's query or YAML: --password X, requirepass: X, token=X, [--auth, X].
	secretPattern = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|requirepass|masterauth|secret|token|api[_-]?key|_auth|--auth)["']?\s*[:=, ]\s*["']?([^\s"',\]})]+)`)
	urlPattern    = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://(?:([^\s/@"':]*)(?::([^\s/@"']*))?@)?([A-Za-z0-9][A-Za-z0-9.-]*)?`)
	emailPattern  = regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+\b`)
)

// namesHost reports whether an address is a real one that is not every
// machine's own.
func namesHost(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && !a.IsLoopback() && !a.IsUnspecified() && !a.Unmap().IsLoopback()
}

// replaceWords replaces what the pattern finds where it stands as a word: not
// inside a longer run of letters and digits.
func replaceWords(p *regexp.Regexp, s string, with func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range p.FindAllStringIndex(s, -1) {
		if m[0] > 0 && wordByte(s[m[0]-1]) && wordByte(s[m[0]]) || m[1] < len(s) && wordByte(s[m[1]]) && wordByte(s[m[1]-1]) {
			continue
		}
		b.WriteString(s[last:m[0]])
		b.WriteString(with(s[m[0]:m[1]]))
		last = m[1]
	}
	return b.String() + s[last:]
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// find notes the names and secrets in free text: hosts, users and passwords of
// URLs, mail addresses, directories of paths.
func (r *renamer) find(s string) {
	r.findPaths(s)
	for _, m := range urlPattern.FindAllStringSubmatch(s, -1) {
		user, password, host := m[1], m[2], m[3]
		if user != "" {
			r.name(classUser, user)
		}
		if password != "" {
			r.name(classSecret, password)
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "" {
			r.host(host)
		}
	}
	for _, m := range emailPattern.FindAllString(s, -1) {
		r.name(classUser, m)
	}
	for _, m := range secretPattern.FindAllStringSubmatch(s, -1) {
		r.name(classSecret, m[1])
	}
}

// host notes a host's name, and the first label of one with a domain.
func (r *renamer) host(name string) {
	if saysNothing(name) {
		return
	}
	s := r.name(classHost, name)
	if label, _, ok := strings.Cut(name, "."); ok && !saysNothing(label) {
		if _, known := r.stand[label]; !known {
			r.stand[label] = s
		}
	}
}

// command notes the secrets in a command line that only its tool knows as such.
func (r *renamer) command(words []string) {
	if len(words) == 0 {
		return
	}
	flag := map[string]string{"redis-cli": "-a", "redis-benchmark": "-a", "memtier_benchmark": "-a", "ipmitool": "-P", "snmpget": "-c"}[path.Base(words[0])]
	for i, w := range words[:len(words)-1] {
		if flag != "" && w == flag {
			r.name(classSecret, words[i+1])
		}
	}
	r.find(strings.Join(words, " "))
}

// rewriteStrings applies fn to every text below v, in place: fields of type string,
// list elements, map keys and values. Named string types are words of the
// record's own, and stay.
func rewriteStrings(v reflect.Value, fn func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			rewriteStrings(copied.Elem(), fn)
			v.Set(copied)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				rewriteStrings(v.Field(i), fn)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewriteStrings(v.Index(i), fn)
		}
	case reflect.Map:
		rewriteMap(v, fn)
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(fn(v.String()))
		}
	}
}

func rewriteMap(v reflect.Value, fn func(string) string) {
	if v.IsNil() {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(it.Key())
		value.Set(it.Value())
		rewriteStrings(key, fn)
		rewriteStrings(value, fn)
		out.SetMapIndex(key, value)
	}
	v.Set(out)
}
