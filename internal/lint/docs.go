package lint

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// conventional are methods whose meaning is fixed by an interface that
// everybody knows.
var conventional = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "GoString": true, "Format": true,
	"Len": true, "Less": true, "Swap": true, "MarshalJSON": true, "UnmarshalJSON": true,
}

func checkDoc(t *Tree, report reporter) {
	documented, first := map[string]bool{}, map[string]*goFile{}
	for _, f := range t.files {
		if f.test() || f.script() {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
		}
		if f.isMain() && f.ast.Doc != nil || strings.HasPrefix(f.ast.Doc.Text(), "Package "+f.ast.Name.Name+" ") {
			documented[f.dir()] = true
		}
		for _, d := range f.ast.Decls {
			checkDecl(f, d, report)
		}
	}
	for dir, f := range first {
		if !documented[dir] {
			report(f.path, 1, "no file has a comment that starts with \"Package %s \"", f.ast.Name.Name)
		}
	}
}

func checkDecl(f *goFile, d ast.Decl, report reporter) {
	missing := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		for _, doc := range docs {
			if doc.Text() != "" {
				return
			}
		}
		report(f.path, f.line(id.Pos()), "exported %s has no doc comment", id.Name)
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d)) && !conventional[d.Name.Name] {
			missing(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		var above *ast.CommentGroup // of the run of lines that a spec stands in
		end := 0
		for _, spec := range d.Specs {
			if f.line(spec.Pos()) != end+1 {
				above = nil
			}
			end = f.line(spec.End())
			switch s := spec.(type) {
			case *ast.TypeSpec:
				missing(s.Name, s.Doc, d.Doc)
			case *ast.ValueSpec:
				if s.Doc != nil {
					above = s.Doc
				}
				for _, id := range s.Names {
					missing(id, s.Doc, s.Comment, d.Doc, naming(above, id.Name))
				}
			}
		}
	}
}

// naming returns the comment if it speaks of name: one above "Exp, Log, Sqrt"
// documents the lines below it too.
func naming(doc *ast.CommentGroup, name string) *ast.CommentGroup {
	words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if slices.Contains(words, name) {
		return doc
	}
	return nil
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
