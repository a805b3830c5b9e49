// Package tidy holds the rules of style, size and import direction that the
// whole module keeps, as pure checks over its syntax trees. The test of this
// package runs them; there is nothing else to run.
package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A File is one Go file of the module.
type File struct {
	Path   string // slash-separated, from the module's root
	Syntax *ast.File
	Lines  int
}

// Dir is the file's package directory, "" for the module's root.
func (f File) Dir() string {
	dir := path.Dir(f.Path)
	if dir == "." {
		return ""
	}
	return dir
}

// Test reports whether the file is a test.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// A Module is all Go files below one root.
type Module struct {
	Files []File
	fset  *token.FileSet
}

// Load parses every Go file below root, leaving out hidden and testdata folders.
func Load(root fs.FS) (*Module, error) {
	m := &Module{fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipDir(name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		return m.add(root, name)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the module: %w", err)
	}
	return m, nil
}

func skipDir(name string) bool {
	base := path.Base(name)
	return base == "testdata" || len(base) > 1 && base[0] == '.'
}

func (m *Module) add(root fs.FS, name string) error {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(m.fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	m.Files = append(m.Files, File{Path: name, Syntax: syntax, Lines: strings.Count(string(src), "\n")})
	return nil
}

func (m *Module) at(n ast.Node) string {
	p := m.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

func (m *Module) length(n ast.Node) int {
	return m.fset.Position(n.End()).Line - m.fset.Position(n.Pos()).Line + 1
}

// functions yields every function declaration with its file.
func (m *Module) functions(yield func(File, *ast.FuncDecl)) {
	for _, f := range m.Files {
		for _, d := range f.Syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				yield(f, fn)
			}
		}
	}
}
