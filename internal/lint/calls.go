package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// The files that may do what no other may.
var (
	// cleanupFiles hold the net under tensors that nobody released, and the
	// test of the allocator that stands in for it.
	cleanupFiles = []string{"tensor/cleanup.go", "memory/garbage_test.go"}
	// launchFile holds the helper through which package tensor runs ops.
	launchFile = "tensor/launch.go"
	// openers may load the CUDA driver.
	openers = []string{"cuda/...", "tensor/...", "examples/...", "kernels/gpu", "internal/gpureport"}
)

func checkLoader(t *Tree, report reporter) {
	for _, f := range t.files {
		if matchAny(openers, f.dir()) {
			continue
		}
		f.uses(module+"/cuda", []string{"Open", "Probe"}, func(name string, at ast.Node) {
			report(f.path, f.line(at.Pos()), "cuda.%s loads the driver; this package knows only cuda's types", name)
		})
	}
}

func checkCleanup(t *Tree, report reporter) {
	for _, f := range t.files {
		f.uses("runtime", []string{"AddCleanup"}, func(_ string, at ast.Node) {
			if !slices.Contains(cleanupFiles, f.path) {
				report(f.path, f.line(at.Pos()), "runtime.AddCleanup outside of %s", strings.Join(cleanupFiles, ", "))
			}
		})
		f.uses("runtime", []string{"SetFinalizer"}, func(_ string, at ast.Node) {
			report(f.path, f.line(at.Pos()), "runtime.SetFinalizer: use a cleanup")
		})
	}
}

// checkLaunch looks at package tensor itself; its tests call t.Run.
func checkLaunch(t *Tree, report reporter) {
	for _, f := range t.files {
		if f.dir() != path.Dir(launchFile) || f.path == launchFile || f.test() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Run" {
				report(f.path, f.line(s.Pos()), "an op's Run outside of %s", launchFile)
			}
			return true
		})
	}
}

func checkExit(t *Tree, report reporter) {
	for _, f := range t.files {
		found := func(name string, at ast.Node) {
			if !inMain(f, at.Pos()) {
				report(f.path, f.line(at.Pos()), "%s ends the program outside of func main", name)
			}
		}
		f.uses("os", []string{"Exit"}, found)
		f.uses("log", []string{"Fatal", "Fatalf", "Fatalln"}, found)
		f.uses("syscall", []string{"Exit"}, found)
	}
}

// inMain reports whether p is in the func main of a program.
func inMain(f *goFile, p token.Pos) bool {
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && f.isMain() && fn.Recv == nil && fn.Name.Name == "main" && fn.Pos() <= p && p < fn.End() {
			return true
		}
	}
	return false
}

func checkSleep(t *Tree, report reporter) {
	for _, f := range t.files {
		if !f.test() {
			continue
		}
		f.uses("time", []string{"Sleep"}, func(_ string, at ast.Node) {
			report(f.path, f.line(at.Pos()), "time.Sleep in a test: wait for the thing itself")
		})
	}
}

func checkPanic(t *Tree, report reporter) {
	for _, f := range t.files {
		if f.test() {
			continue
		}
		want := f.ast.Name.Name
		if f.isMain() {
			want = path.Base(f.dir())
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if fn, ok := call.Fun.(*ast.Ident); !ok || fn.Name != "panic" || fn.Obj != nil {
				return true
			}
			if start, known := startOfText(call.Args[0]); known && !strings.HasPrefix(start, want+": ") {
				report(f.path, f.line(call.Pos()), "panic(%q...) does not start with %q", start, want+": ")
			}
			return true
		})
	}
}

// startOfText returns the literal that the text of a panic starts with, where
// it can be seen: in the argument, in a sum, in a formatting call.
func startOfText(x ast.Expr) (start string, known bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		return unquote(x), x.Kind == token.STRING
	case *ast.ParenExpr:
		return startOfText(x.X)
	case *ast.BinaryExpr:
		return startOfText(x.X)
	case *ast.CallExpr:
		formats := []string{"Sprintf", "Sprint", "Sprintln", "Errorf", "New"}
		if s, ok := x.Fun.(*ast.SelectorExpr); ok && slices.Contains(formats, s.Sel.Name) && len(x.Args) > 0 {
			return startOfText(x.Args[0])
		}
	}
	return "", false
}
