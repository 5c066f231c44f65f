package lint

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the path of the module in go.mod.
const module = "tarn"

// Tree is the files that the rules look at.
type Tree struct {
	fset  *token.FileSet
	texts []text    // all text files, Go files too, by path
	files []*goFile // by path
}

// text is a file of any kind.
type text struct {
	path string // from the module's root, with slashes
	src  []byte
}

// goFile is a parsed Go file.
type goFile struct {
	text
	fset *token.FileSet
	ast  *ast.File
}

// Load reads the module at root. What go leaves out is left out: folders
// named testdata, or with a dot or underscore in front (but .ci is read).
func Load(root string) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(rel), src)
	})
	return t, err
}

func skipped(dir string) bool {
	return dir == "testdata" || dir == "build" || dir != ".ci" && strings.ContainsAny(dir[:1], "._")
}

// add takes in a file; one with a NUL byte is no text and is left out.
func (t *Tree) add(name string, src []byte) error {
	if bytes.IndexByte(src, 0) >= 0 {
		return nil
	}
	t.texts = append(t.texts, text{name, src})
	if path.Ext(name) != ".go" {
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	t.files = append(t.files, &goFile{text{name, src}, t.fset, parsed})
	return nil
}

// dir is the file's folder, which is its package's path in the module.
func (f *goFile) dir() string {
	if d := path.Dir(f.path); d != "." {
		return d
	}
	return ""
}

func (f *goFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// isMain reports whether the file belongs to a program.
func (f *goFile) isMain() bool { return f.ast.Name.Name == "main" }

// script reports whether the file is a program of its own, which go runs only
// by name: //go:build ignore.
func (f *goFile) script() bool {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if c.Pos() > f.ast.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			if err == nil && !x.Eval(func(tag string) bool { return tag != "ignore" }) {
				return true
			}
		}
	}
	return false
}

func (f *goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// imports returns the paths that the file imports, with their lines.
func (f *goFile) imports() map[string]int {
	m := map[string]int{}
	for _, spec := range f.ast.Imports {
		m[unquote(spec.Path)] = f.line(spec.Pos())
	}
	return m
}

// uses calls found for each mention of pkg.name, for the names given, where
// pkg is an import path. It finds mentions and not only calls: a function
// that is passed on is called by somebody.
func (f *goFile) uses(pkg string, names []string, found func(name string, at ast.Node)) {
	local := f.localName(pkg)
	if local == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			// Obj is set where a variable of that name hides the package.
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil {
				found(s.Sel.Name, s)
			}
		}
		return true
	})
}

// localName is what the file calls an imported package, "" if it does not.
func (f *goFile) localName(pkg string) string {
	for _, spec := range f.ast.Imports {
		if unquote(spec.Path) != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// unquote returns the value of a string literal that has been parsed.
func unquote(lit *ast.BasicLit) string {
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return s
}

// match reports whether a path is named by a pattern: "a/b" is itself, "a/..."
// is a and what is below it, "..." is everything.
func match(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return name == pattern
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}
