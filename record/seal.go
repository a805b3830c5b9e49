package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// A Seal is the mark of a complete record: the hash of every file, and the
// root hash over them. The first is complete.json; an exclusion made later
// adds a file and a further seal (complete-0002.json) over everything,
// the earlier seals included.
type Seal struct {
	Format string `json:"format"` // the manifest's
	// Sealed is the time of the last thing in the record: the journal's last
	// event, the exclusion or the redaction. So nothing in the seal stands alone.
	Sealed   time.Time  `json:"sealed"`
	Files    []FileHash `json:"files"` // sorted by path, bytewise
	RootHash string     `json:"root_hash"`
}

// A FileHash is the hash of one file of a record.
type FileHash struct {
	Path   string `json:"path"` // slash-separated, from the run directory
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// hashPrefix names the algorithm of every hash that is printed.
const hashPrefix = "sha256:"

// HashBytes is the hash of src as records write it: "sha256:" and hex.
func HashBytes(src []byte) string {
	sum := sha256.Sum256(src)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// RootHash is the hash of a record: SHA-256 over the text that sha256sum prints
// for its files, sorted by path bytewise: a line each of the file's hash in
// hex, two spaces, the path and a newline. docs/record.md has the command that
// recomputes it.
func RootHash(files []FileHash) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s  %s\n", f.SHA256, f.Path)
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

// sealName is the file of the n-th seal, from 1.
func sealName(n int) string {
	if n == 1 {
		return "complete.json"
	}
	return fmt.Sprintf("complete-%04d.json", n)
}

// readSeals reads all seals, first to last, and checks that each one's root
// hash is that of its own list.
func readSeals(fsys fs.FS) ([]Seal, error) {
	var seals []Seal
	for n := 1; ; n++ {
		var s Seal
		err := readJSON(fsys, sealName(n), &s)
		if errors.Is(err, fs.ErrNotExist) {
			return seals, nil
		}
		if err != nil {
			return nil, err
		}
		if got := RootHash(s.Files); got != s.RootHash {
			return nil, fmt.Errorf("%s: its root hash is %q, but its list of files gives %s: the file was changed", sealName(n), s.RootHash, got)
		}
		seals = append(seals, s)
	}
}

// hashFiles hashes every file of a record but the named seal and the rendered
// reports, sorted by path. Of a live run it leaves out what is being written.
func hashFiles(fsys fs.FS, seal string, live bool) ([]FileHash, error) {
	var files []FileHash
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == ReportDir || live && name == workDir):
			return fs.SkipDir
		case e.IsDir() || name == seal || live && strings.HasPrefix(path.Base(name), tempPrefix):
			return nil
		case !e.Type().IsRegular():
			return &notPlainError{name}
		}
		f, err := hashFile(fsys, name)
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hashing the record: %w", err)
	}
	slices.SortFunc(files, func(a, b FileHash) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func hashFile(fsys fs.FS, name string) (FileHash, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return FileHash{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return FileHash{}, fmt.Errorf("reading %s: %w", name, err)
	}
	return FileHash{Path: name, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, nil
}
