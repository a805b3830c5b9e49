package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The size budget.
const (
	maxFunctionLines = 70
	fewFunctionLines = 40
	maxLongFunctions = 0.08 // of all functions may be over fewFunctionLines
	maxFileLines     = 500
)

// Sizes checks the lengths of functions and files.
func (m *Module) Sizes() (faults []string) {
	var all, long int
	m.functions(func(f File, fn *ast.FuncDecl) {
		if f.Test() {
			return
		}
		all++
		n := m.length(fn)
		if n > fewFunctionLines {
			long++
		}
		if n > maxFunctionLines {
			faults = append(faults, fmt.Sprintf("%s: %s has %d lines; at most %d", m.at(fn), fn.Name.Name, n, maxFunctionLines))
		}
	})
	if float64(long) > maxLongFunctions*float64(all) {
		faults = append(faults, fmt.Sprintf("%d of %d functions are over %d lines; at most %.0f %% may be", long, all, fewFunctionLines, 100*maxLongFunctions))
	}
	for _, f := range m.Files {
		if f.Lines > maxFileLines {
			faults = append(faults, fmt.Sprintf("%s has %d lines; at most %d", f.Path, f.Lines, maxFileLines))
		}
	}
	return faults
}

// Names checks for packages that say nothing.
func (m *Module) Names() (faults []string) {
	banned := []string{"util", "utils", "common", "lib", "pkg", "helpers", "misc"}
	for _, f := range m.Files {
		if slices.Contains(banned, path.Base(f.Dir())) {
			faults = append(faults, f.Path+": a folder of this name tells a newcomer nothing")
		}
	}
	return faults
}

// surroundings lists the calls that only internal/osenv and main may make, so
// that everything else can be tested as a whole.
func surroundings() map[string][]string {
	return map[string][]string{
		"os":   {"Exit", "Getenv", "LookupEnv", "Environ", "Stdout", "Stderr", "Stdin", "Args"},
		"fmt":  {"Print", "Printf", "Println"},
		"time": {"Now", "Since", "Until", "Sleep"},
		"log":  {"Print", "Printf", "Println", "Fatal", "Fatalf", "Panic"},
	}
}

// Surroundings checks that the core takes its clock, streams and environment
// from its caller.
func (m *Module) Surroundings() (faults []string) {
	for _, f := range m.Files {
		if f.mayTouchSurroundings() {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && pkg.Obj == nil && slices.Contains(surroundings()[pkg.Name], sel.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%s: %s.%s in the core; take it from the caller", m.at(sel), pkg.Name, sel.Sel.Name))
			}
			return true
		})
	}
	return faults
}

// mayTouchSurroundings holds for tests, for what only tests and benchmarks
// use, and for the two places that take the surroundings in.
func (f File) mayTouchSurroundings() bool {
	return f.Test() || f.Path == "cmd/bakeoff/main.go" || f.Dir() == "internal/osenv" ||
		f.Dir() == "load/loadtest" || strings.HasPrefix(f.Path, "bench/")
}

// Inits checks that nothing happens before main.
func (m *Module) Inits() (faults []string) {
	m.functions(func(f File, fn *ast.FuncDecl) {
		if fn.Recv == nil && fn.Name.Name == "init" {
			faults = append(faults, m.at(fn)+": func init; list things explicitly instead")
		}
	})
	return faults
}

// Globals checks that no package-level variable is written to after its
// declaration.
func (m *Module) Globals() (faults []string) {
	vars := map[string]map[string]bool{}
	for _, f := range m.Files {
		key := f.Dir() + " " + f.Syntax.Name.Name
		if vars[key] == nil {
			vars[key] = map[string]bool{}
		}
		for _, name := range packageVars(f.Syntax) {
			vars[key][name] = true
		}
	}
	for _, f := range m.Files {
		if f.Test() {
			continue
		}
		names := vars[f.Dir()+" "+f.Syntax.Name.Name]
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			for _, target := range assigned(n) {
				if id := root(target); id != nil && names[id.Name] && isPackageLevel(f.Syntax, id) {
					faults = append(faults, fmt.Sprintf("%s: package variable %s is written to; keep state in a value", m.at(target), id.Name))
				}
			}
			return true
		})
	}
	return faults
}

func packageVars(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, s := range gen.Specs {
			for _, id := range s.(*ast.ValueSpec).Names {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// root is the variable that an assignment's left side starts from, where the
// assignment changes that variable itself and not what it points to.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func isPackageLevel(f *ast.File, id *ast.Ident) bool {
	if id.Obj == nil {
		return true // declared in another file of the package
	}
	spec, ok := id.Obj.Decl.(*ast.ValueSpec)
	if !ok {
		return false
	}
	for _, d := range f.Decls {
		if gen, ok := d.(*ast.GenDecl); ok && slices.Contains(gen.Specs, ast.Spec(spec)) {
			return true
		}
	}
	return false
}

// Comments checks that exported identifiers and packages are documented.
func (m *Module) Comments() (faults []string) {
	documented := map[string]bool{}
	for _, f := range m.Files {
		if f.Test() {
			continue
		}
		documented[f.Dir()] = documented[f.Dir()] || f.Syntax.Doc != nil
		for _, d := range f.Syntax.Decls {
			faults = append(faults, m.undocumented(d)...)
		}
	}
	for dir, ok := range documented {
		if !ok {
			faults = append(faults, dir+": no package comment")
		}
	}
	slices.Sort(faults)
	return faults
}

func (m *Module) undocumented(d ast.Decl) (faults []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			faults = append(faults, fmt.Sprintf("%s: %s has no comment", m.at(d), d.Name.Name))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			for _, id := range specNames(s) {
				if id.IsExported() && d.Doc == nil && specDoc(s) == nil {
					faults = append(faults, fmt.Sprintf("%s: %s has no comment", m.at(id), id.Name))
				}
			}
		}
	}
	return faults
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported() && !slices.Contains([]string{"Error", "String", "GoString", "Unwrap", "LogValue", "MarshalText", "MarshalJSON", "Len", "Less", "Swap"}, fn.Name.Name)
}

func specNames(s ast.Spec) []*ast.Ident {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

func specDoc(s ast.Spec) *ast.CommentGroup {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		if s.Doc != nil {
			return s.Doc
		}
		return s.Comment
	}
	return nil
}

// imports are the module's own packages that a file imports, as directories.
func (f File) imports() (dirs []string) {
	for _, i := range f.Syntax.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil && strings.HasPrefix(p, "bakeoff/") {
			dirs = append(dirs, strings.TrimPrefix(p, "bakeoff/"))
		}
	}
	return dirs
}
