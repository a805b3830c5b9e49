package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// Redact makes a copy of a record at out, which must not exist, without names
// of hosts and users, addresses, serial numbers, UUIDs and secrets. Each is
// replaced by a stand-in, the same everywhere, so that the copy reports the
// same figures. A copy of a complete record is sealed with a root hash of its
// own, and its manifest names the original's.
func Redact(dir, out, build string, now time.Time) (Manifest, error) {
	if r, err := Verify(dir); err != nil || !r.OK() {
		return Manifest{}, fmt.Errorf("redacting: %w", errors.Join(err, r.Err()))
	}
	run, err := Open(dir)
	if err != nil {
		return Manifest{}, err
	}
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("redacting %s: %s is there already: name a directory that is not (%w)", dir, out, errors.Join(fs.ErrExist, err))
	}
	if err := outside(out, dir); err != nil {
		return Manifest{}, fmt.Errorf("redacting %s: %w", dir, err)
	}
	temp := tempName(filepath.Dir(out))
	if err := os.Mkdir(temp, 0o755); err != nil {
		return Manifest{}, fmt.Errorf("redacting %s: %w", dir, err)
	}
	defer os.RemoveAll(temp)
	c := copier{run: run, out: temp, names: newRenamer(), build: build, at: now.UTC()}
	if err := c.all(); err != nil {
		return Manifest{}, fmt.Errorf("redacting %s: %w", dir, err)
	}
	if err := errors.Join(os.Rename(temp, out), syncDir(filepath.Dir(out))); err != nil {
		return Manifest{}, fmt.Errorf("redacting %s: %w", dir, err)
	}
	return c.manifest, nil
}

// outside refuses a copy inside the record itself, which it would spoil.
func outside(out, dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(out))
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	if rel, err := filepath.Rel(real, parent); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is inside the record: name a directory outside of it", out)
	}
	return nil
}

// copier makes one redacted copy.
type copier struct {
	run      *Run
	out      string
	names    *renamer
	build    string
	at       time.Time
	left     int // files left out
	manifest Manifest
}

func (c *copier) all() error {
	var files []string
	err := fs.WalkDir(c.run.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == ReportDir || name == workDir):
			return fs.SkipDir
		case !e.IsDir() && !c.derived(name):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.collect(files); err != nil {
		return err
	}
	c.names.prepare()
	for _, file := range files {
		if err := c.copyFile(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := c.writeManifest(); err != nil || !c.run.Complete {
		return err
	}
	_, err = seal(c.out, 1, c.manifest.Format, c.at)
	return err
}

// derived reports whether a file is made anew for the copy.
func (c *copier) derived(name string) bool {
	return name == ManifestFile || strings.HasPrefix(name, "complete") && path.Dir(name) == "." || strings.HasPrefix(path.Base(name), tempPrefix)
}

// collect finds what is to be renamed wherever it stands.
func (c *copier) collect(files []string) error {
	c.names.host(c.run.Manifest.Host)
	c.names.command(c.run.Manifest.Command)
	c.names.find(string(c.run.Plan))
	for _, x := range c.run.Exclusions {
		c.names.name(classUser, x.By)
	}
	for _, t := range c.run.Trials {
		for _, s := range t.Services {
			c.names.command(s.Command)
		}
		rewriteStrings(reflect.ValueOf(&t).Elem(), func(s string) string {
			c.names.find(s)
			return s
		})
	}
	for _, file := range files {
		if !isFacts(file) {
			continue
		}
		f, err := c.run.Facts(file)
		if err != nil {
			return err
		}
		for _, fact := range f.Flatten() {
			if fact.Identity {
				c.identity(fact)
			}
		}
	}
	return nil
}

// identity notes a fact that names a machine or a part of one.
func (c *copier) identity(f Fact) {
	switch kind := f.Path[strings.LastIndexByte(f.Path, '.')+1:]; {
	case kind == "hostname":
		c.names.host(f.Value)
	case macPattern.FindString(f.Value) == f.Value:
		c.names.name(classMAC, f.Value)
	case uuidPattern.FindString(f.Value) == f.Value:
		c.names.name(classUUID, f.Value)
	default:
		c.names.name(classSerial, f.Value)
	}
}

func isFacts(file string) bool {
	return strings.HasPrefix(path.Base(file), "facts-") && path.Ext(file) == ".json"
}

// copyFile writes the redacted form of one file.
func (c *copier) copyFile(file string) error {
	src, err := fs.ReadFile(c.run.fsys, file)
	if err != nil {
		return err
	}
	to := filepath.Join(c.out, filepath.FromSlash(c.names.text(file)))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, keep, err := c.redacted(file, src)
	if err != nil || !keep {
		return err
	}
	return writeBytes(to, out)
}

// redacted is a file's redacted content, and whether the copy keeps the file.
func (c *copier) redacted(file string, src []byte) (out []byte, keep bool, err error) {
	switch {
	case file == JournalFile:
		out, err = c.journal(src)
	case isFacts(file):
		out, err = c.facts(file)
	case path.Base(file) == TrialFile:
		out, err = redactJSON[Trial](src, c.names.text)
	case path.Dir(file) == ExclusionsDir:
		out, err = redactJSON[Exclusion](src, c.names.text)
	case path.Ext(file) == ".parquet":
		out, err = c.readings(src)
	case path.Ext(file) == ".hlog":
		out = c.log(src)
	case utf8.Valid(src):
		out = []byte(c.names.text(string(src)))
	default:
		c.left++ // nobody knows what is in it
		return nil, false, nil
	}
	return out, true, err
}

// redactJSON rewrites every text of a value, and drops fields that this build
// does not know.
func redactJSON[T any](src []byte, fn func(string) string) ([]byte, error) {
	var v T
	if err := json.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	rewriteStrings(reflect.ValueOf(&v).Elem(), fn)
	var out bytes.Buffer
	err := writeJSON(&out, v)
	return out.Bytes(), err
}

// facts renames identities field by field, and keeps of free text only what
// Facts.Redact does.
func (c *copier) facts(file string) ([]byte, error) {
	f, err := c.run.Facts(file)
	if err != nil {
		return nil, err
	}
	scrubbed := f.Redact()
	f.Kernel.CommandLine, f.Declared, f.Unread = scrubbed.Kernel.CommandLine, scrubbed.Declared, scrubbed.Unread
	c.renameIdentity(reflect.ValueOf(&f).Elem())
	rewriteStrings(reflect.ValueOf(&f).Elem(), c.names.known)
	var out bytes.Buffer
	err = writeJSON(&out, f)
	return out.Bytes(), err
}

func (c *copier) renameIdentity(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.renameIdentity(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.renameIdentity(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if v.Type().Field(i).Tag.Get("fact") == "identity" && field.Kind() == reflect.String {
				field.SetString(c.names.name(classSerial, field.String()))
				continue
			}
			if v.Type().Field(i).IsExported() {
				c.renameIdentity(field)
			}
		}
	}
}

// journal rewrites the texts of every event and chains the lines anew.
func (c *copier) journal(src []byte) ([]byte, error) {
	j, err := ReadJournal(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	sum := ""
	for _, e := range j.Events {
		if e.Data, err = c.redactRaw(e.Data); err != nil {
			return nil, err
		}
		var line []byte
		if line, sum, err = formatLine(e, sum); err != nil {
			return nil, err
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

func (c *copier) redactRaw(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	return json.Marshal(c.redactAny(v))
}

// redactAny rewrites the texts of JSON whose type is not known. Keys stay:
// they are the record's own words.
func (c *copier) redactAny(v any) any {
	switch v := v.(type) {
	case string:
		return c.names.text(v)
	case []any:
		for i := range v {
			v[i] = c.redactAny(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = c.redactAny(v[k])
		}
	}
	return v
}

func (c *copier) readings(src []byte) ([]byte, error) {
	all, err := ReadReadings(bytes.NewReader(src), int64(len(src)))
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Host = c.names.text(all[i].Host)
		all[i].Instance = c.names.text(all[i].Instance)
	}
	var out bytes.Buffer
	err = WriteReadings(&out, all)
	return out.Bytes(), err
}

// log rewrites comments and tags of a histogram log, and leaves the encoded
// histograms alone.
func (c *copier) log(src []byte) []byte {
	lines := strings.SplitAfter(string(src), "\n")
	for i, line := range lines {
		at := len(line)
		if !strings.HasPrefix(line, "#") {
			at = strings.LastIndexByte(line, ',') + 1
		}
		lines[i] = c.names.text(line[:at]) + line[at:]
	}
	return []byte(strings.Join(lines, ""))
}

func (c *copier) writeManifest() error {
	plan, err := os.ReadFile(filepath.Join(c.out, PlanFile))
	if err != nil {
		return err
	}
	m := c.run.Manifest
	rewriteStrings(reflect.ValueOf(&m).Elem(), c.names.text)
	if c.left > 0 {
		c.names.counts["files left out"] = c.left
	}
	m.Redacted = &Redaction{
		OriginalRootHash: c.run.RootHash, OriginalPlanHash: c.run.Manifest.PlanHash,
		At: c.at, Build: c.build, Replaced: c.names.counts,
	}
	m.PlanHash = HashBytes(plan)
	c.manifest = m
	return writeAtomic(filepath.Join(c.out, ManifestFile), func(out io.Writer) error { return writeJSON(out, m) })
}
