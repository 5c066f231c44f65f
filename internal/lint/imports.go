package lint

import "strings"

// layer says what the packages of a part of the house may import of the
// others. Their tests may import more where test says so.
type layer struct {
	from      string
	may, test []string
}

// layers is the dependency picture of ARCHITECTURE.md. The first layer that
// matches a package counts.
var layers = []layer{
	{from: "internal/gpureport", may: []string{"nn", "tensor", "memory", "kernels/...", "cuda", "cuda/cudasim"}}, // a program
	{from: "internal/torchbench", may: []string{"tensor"}},                                                       // a program
	{from: "internal/..."},
	{from: "cuda/internal/...", may: []string{"cuda/internal/..."}},
	{from: "cuda/cudamem/...", may: []string{"cuda/...", "memory"}, test: []string{"memory/..."}},
	{from: "cuda/cudasim/ptx/..."}, // knows PTX and no driver
	{from: "cuda/cudasim/...", may: []string{"cuda/..."}, test: []string{"memory", "memory/..."}},
	{from: "cuda/...", may: []string{"cuda/..."}},
	{from: "memory/...", may: []string{"memory/...", "cuda"}},
	{from: "kernels/...", may: []string{"kernels/...", "cuda", "cuda/cublaslt"}, test: []string{"cuda/cudasim"}},
	{from: "tensor/gorgonia", may: []string{"tensor/..."}, test: []string{"memory/...", "kernels/..."}},
	{from: "tensor/...", may: []string{"tensor/...", "memory/...", "kernels/...", "cuda", "cuda/cudamem"}, test: []string{"cuda/cudasim"}},
	{from: "nn/...", may: []string{"nn/...", "tensor/..."}, test: []string{"memory/...", "kernels/...", "cuda/..."}},
	{from: "examples/...", may: []string{"examples/...", "nn/...", "tensor/...", "memory/...", "cuda", "cuda/cudasim"},
		test: []string{"..."}},
}

// shared is what every layer may import.
var shared = []string{"internal/invariants"}

// testOnly is what no program may contain, and sharedTests what the tests of
// every layer may import.
var (
	testOnly    = []string{"memory/memorytest/...", "kernels/kerneltest/...", "internal/fixture", "internal/fmapeak"}
	sharedTests = []string{"internal/fixture", "internal/fmapeak"}
	// onFakes are programs all the same that need a fake device: they show what
	// happens on one that few of their readers have.
	onFakes = []string{"examples/fragmentation"}
	// apart is what nothing of ours may import: only who uses it pays for what
	// it depends on.
	apart = []string{"tensor/gorgonia"}
)

func checkImports(t *Tree, report reporter) {
	for _, f := range t.files {
		l := layerOf(f.dir())
		if l == nil {
			report(f.path, 0, "package %q is in no layer: say in internal/lint what it may import", f.dir())
			continue
		}
		for imported, line := range f.imports() {
			to, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case f.localName(imported) == ".":
				report(f.path, line, "import of %s by a dot hides from whom the names are", imported)
			case !ours:
			case !f.test() && matchAny(testOnly, to) && !matchAny(testOnly, f.dir()) && !matchAny(onFakes, f.dir()):
				report(f.path, line, "%s is for tests only", imported)
			case matchAny(apart, to) && f.dir() != to:
				report(f.path, line, "%s is for users alone, who then pay for its dependencies", imported)
			case matchAny(l.may, to), matchAny(shared, to), to == f.dir():
			case f.test() && (matchAny(l.test, to) || matchAny(sharedTests, to)):
			default:
				report(f.path, line, "%s may not import %s", l.from, imported)
			}
		}
	}
}

func layerOf(dir string) *layer {
	for i := range layers {
		if match(layers[i].from, dir) {
			return &layers[i]
		}
	}
	return nil
}

// dependency says where a module of others may be imported.
type dependency struct {
	path  string
	from  []string // nil: in tests alone
	apart bool     // not even in tests elsewhere
}

var dependencies = []dependency{
	{path: "golang.org/x/exp/...", from: []string{"..."}},
	{path: "golang.org/x/sys/...", from: []string{"..."}},
	{path: "golang.org/x/term", from: []string{"examples/..."}},
	{path: "github.com/schollz/progressbar/v3", from: []string{"examples/..."}},
	{path: "github.com/stretchr/testify/...", from: testOnly},
	{path: "gorgonia.org/tensor", from: apart, apart: true},
}

func checkModules(t *Tree, report reporter) {
	for _, f := range t.files {
		for imported, line := range f.imports() {
			host, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(host, ".") {
				continue // of the standard library or ours
			}
			if !allowedModule(imported, f) {
				report(f.path, line, "%s may not be imported here: see dependencies in internal/lint", imported)
			}
		}
	}
}

func allowedModule(imported string, f *goFile) bool {
	for _, d := range dependencies {
		if match(d.path, imported) {
			return f.test() && !d.apart || matchAny(d.from, f.dir())
		}
	}
	return false
}
