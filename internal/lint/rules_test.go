package lint

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// note is a word that the rule forbids, spelled so that this file has it not.
const note = "TO" + "DO"

// snippets are small trees. What each line's rule must find in it stands in
// want, as "path:line: part of the message"; nothing else may be found.
var snippets = []struct {
	name  string
	rule  string
	files map[string]string
	want  []string
}{
	{"kernels import memory", "imports",
		map[string]string{"kernels/x.go": "package kernels\n\nimport _ \"tarn/memory\"\n"},
		[]string{"kernels/x.go:3: kernels/... may not import tarn/memory"}},
	{"kernels import tensor in a test", "imports",
		map[string]string{"kernels/cpu/x_test.go": "package cpu_test\n\nimport _ \"tarn/tensor\"\n"},
		[]string{"kernels/cpu/x_test.go:3: kernels/... may not import tarn/tensor"}},
	{"memory imports kernels", "imports",
		map[string]string{"memory/x.go": "package memory\n\nimport _ \"tarn/kernels\"\n"},
		[]string{"memory/x.go:3: memory/... may not import tarn/kernels"}},
	{"memory imports cuda's loader", "imports",
		map[string]string{"memory/x.go": "package memory\n\nimport _ \"tarn/cuda/internal/dl\"\n"},
		[]string{"memory/x.go:3: memory/... may not import tarn/cuda/internal/dl"}},
	{"tensor imports nn", "imports",
		map[string]string{"tensor/x.go": "package tensor\n\nimport _ \"tarn/nn/data\"\n"},
		[]string{"tensor/x.go:3: tensor/... may not import tarn/nn/data"}},
	{"nn imports kernels, but for its tests", "imports",
		map[string]string{
			"nn/x.go":      "package nn\n\nimport _ \"tarn/kernels\"\n",
			"nn/x_test.go": "package nn\n\nimport _ \"tarn/kernels\"\n",
		},
		[]string{"nn/x.go:3: nn/... may not import tarn/kernels"}},
	{"cuda imports memory, but for cudamem", "imports",
		map[string]string{
			"cuda/x.go":         "package cuda\n\nimport _ \"tarn/memory\"\n",
			"cuda/cudamem/x.go": "package cudamem\n\nimport (\n\t_ \"tarn/cuda\"\n\t_ \"tarn/memory\"\n)\n",
		},
		[]string{"cuda/x.go:3: cuda/... may not import tarn/memory"}},
	{"a file for another system", "imports",
		map[string]string{"memory/x_windows.go": "//go:build !cgo\n\npackage memory\n\nimport _ \"tarn/tensor\"\n"},
		[]string{"memory/x_windows.go:5: memory/... may not import tarn/tensor"}},
	{"a test suite in a program", "imports",
		map[string]string{
			"memory/inspect/x.go":    "package inspect\n\nimport _ \"tarn/memory/memorytest\"\n",
			"memory/x_test.go":       "package memory_test\n\nimport _ \"tarn/memory/memorytest\"\n",
			"tensor/x_test.go":       "package tensor_test\n\nimport _ \"tarn/internal/fixture\"\n",
			"tensor/x.go":            "package tensor\n\nimport _ \"tarn/internal/fixture\"\n",
			"memory/memorytest/x.go": "package memorytest\n\nimport _ \"tarn/memory/memorytest/naive\"\n",

			"examples/fragmentation/x.go": "package main\n\nimport _ \"tarn/memory/memorytest\"\n",
			"examples/oom/x.go":           "package main\n\nimport _ \"tarn/memory/memorytest\"\n",
		},
		[]string{
			"examples/oom/x.go:3: tarn/memory/memorytest is for tests only",
			"memory/inspect/x.go:3: tarn/memory/memorytest is for tests only",
			"tensor/x.go:3: tarn/internal/fixture is for tests only",
		}},
	{"a package apart", "imports",
		map[string]string{
			"nn/x_test.go":              "package nn_test\n\nimport _ \"tarn/tensor/gorgonia\"\n",
			"tensor/gorgonia/x_test.go": "package gorgonia_test\n\nimport _ \"tarn/tensor/gorgonia\"\n",
			"tensor/x.go":               "package tensor\n\nimport _ \"tarn/tensor/gorgonia\"\n",
		},
		[]string{
			"nn/x_test.go:3: tarn/tensor/gorgonia is for users alone",
			"tensor/x.go:3: tarn/tensor/gorgonia is for users alone",
		}},
	{"a package that nobody knows", "imports",
		map[string]string{"util/x.go": "package util\n"},
		[]string{`util/x.go:0: package "util" is in no layer`}},
	{"a dot import", "imports",
		map[string]string{"nn/x.go": "package nn\n\nimport . \"runtime\"\n"},
		[]string{"nn/x.go:3: import of runtime by a dot"}},
	{"what may be imported", "imports",
		map[string]string{
			"nn/x.go":           "package nn\n\nimport (\n\t_ \"tarn/internal/invariants\"\n\t_ \"tarn/tensor\"\n)\n",
			"nn/x_test.go":      "package nn_test\n\nimport (\n\t_ \"tarn/memory\"\n\t_ \"tarn/nn\"\n)\n",
			"examples/mlp/x.go": "package main\n\nimport (\n\t_ \"tarn/cuda\"\n\t_ \"tarn/nn\"\n)\n",
		}, nil},

	{"dependencies", "modules",
		map[string]string{
			"tensor/x.go":            "package tensor\n\nimport _ \"github.com/stretchr/testify/require\"\n",
			"tensor/x_test.go":       "package tensor\n\nimport _ \"github.com/stretchr/testify/require\"\n",
			"tensor/y.go":            "package tensor\n\nimport _ \"golang.org/x/exp/constraints\"\n",
			"memory/z.go":            "package memory\n\nimport _ \"golang.org/x/term\"\n",
			"examples/mlp/z.go":      "package main\n\nimport _ \"golang.org/x/term\"\n",
			"tensor/far_test.go":     "package tensor\n\nimport _ \"example.com/far\"\n",
			"memory/memorytest/m.go": "package memorytest\n\nimport _ \"github.com/stretchr/testify/require\"\n",
			"tensor/gorgonia/x.go":   "package gorgonia\n\nimport _ \"gorgonia.org/tensor\"\n",
			"memory/g_test.go":       "package memory\n\nimport _ \"gorgonia.org/tensor\"\n",
		},
		[]string{
			"memory/g_test.go:3: gorgonia.org/tensor",
			"memory/z.go:3: golang.org/x/term",
			"tensor/far_test.go:3: example.com/far",
			"tensor/x.go:3: github.com/stretchr/testify/require",
		}},

	{"loading the driver", "loader",
		map[string]string{
			"memory/x.go": "package memory\n\nimport \"tarn/cuda\"\n\nvar open = cuda.Open\n\ntype p cuda.DevicePtr\n",
			"nn/x.go":     "package nn\n\nimport driver \"tarn/cuda\"\n\nfunc f() error { return driver.Probe() }\n",
			"tensor/x.go": "package tensor\n\nimport \"tarn/cuda\"\n\nfunc f() error { return cuda.Probe() }\n",
		},
		[]string{"memory/x.go:5: cuda.Open loads the driver", "nn/x.go:5: cuda.Probe loads the driver"}},

	{"cleanups", "cleanup",
		map[string]string{
			"tensor/cleanup.go": "package tensor\n\nimport \"runtime\"\n\nvar f = runtime.AddCleanup[int, int]\n",
			"tensor/x.go":       "package tensor\n\nimport rt \"runtime\"\n\nvar f = rt.AddCleanup[int, int]\n",
			"memory/x_test.go":  "package memory\n\nimport \"runtime\"\n\nfunc f() { runtime.SetFinalizer(nil, nil) }\n",
			"nn/x.go":           "package nn\n\nfunc f(runtime interface{ SetFinalizer() }) { runtime.SetFinalizer() }\n",
		},
		[]string{
			"memory/x_test.go:5: runtime.SetFinalizer",
			"tensor/x.go:5: runtime.AddCleanup outside of tensor/cleanup.go",
		}},

	{"launches", "launch",
		map[string]string{
			"tensor/add.go":    "package tensor\n\nfunc f(op O) { op.Run(nil, nil) }\n",
			"tensor/launch.go": "package tensor\n\nfunc f(op O) { op.Run(nil, nil) }\n",
			"tensor/x_test.go": "package tensor\n\nfunc f(t T) { t.Run(nil, nil) }\n",
			"kernels/x.go":     "package kernels\n\nfunc f(op O) { op.Run(nil, nil) }\n",
		},
		[]string{"tensor/add.go:3: an op's Run outside of tensor/launch.go"}},

	{"ends of the program", "exit",
		map[string]string{
			"examples/a/main.go": "package main\n\nimport (\n\t\"log\"\n\t\"os\"\n)\n\nfunc main() {\n\tdefer os.Exit(1)\n" +
				"\tlog.Fatal()\n}\n\nfunc f() { os.Exit(2) }\n\ntype t int\n\nfunc (t) main() { log.Fatalf(\"\") }\n",
			"nn/x.go":      "package nn\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n",
			"nn/x_test.go": "package nn\n\nimport \"log\"\n\nvar die = log.Fatalln\n",
		},
		[]string{
			"examples/a/main.go:13: Exit ends", "examples/a/main.go:17: Fatalf ends",
			"nn/x.go:5: Exit ends", "nn/x_test.go:5: Fatalln ends",
		}},

	{"panics", "panic",
		map[string]string{
			"memory/x.go": "package memory\n\nfunc f() {\n\tpanic(\"double free\")\n\tpanic(\"memory: double free\")\n" +
				"\tpanic(fmt.Sprintf(\"block %d\", 1))\n\tpanic(fmt.Sprintf(\"memory: block %d\", 1))\n" +
				"\tpanic(\"free of \" + name)\n\tpanic(errors.New(\"memory:x\"))\n\tpanic(err)\n\tpanic((`bad`))\n}\n",
			"examples/mlp/x.go": "package main\n\nfunc f() {\n\tpanic(\"mlp: bug\")\n\tpanic(\"main: bug\")\n}\n",
			"nn/x.go":           "package nn\n\nfunc f(panic func(string)) { panic(\"not the real one\") }\n",
			"nn/x_test.go":      "package nn\n\nfunc f() { panic(\"in a test\") }\n",
		},
		[]string{
			"examples/mlp/x.go:5: panic(\"main: bug\"...)", "memory/x.go:4: panic(\"double free\"...)",
			"memory/x.go:6: panic(\"block %d\"...)", "memory/x.go:8: panic(\"free of \"...)",
			"memory/x.go:9: panic(\"memory:x\"...)", "memory/x.go:11: panic(\"bad\"...)",
		}},

	{"sleeping", "sleep",
		map[string]string{
			"nn/x_test.go": "package nn\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
			"nn/x.go":      "package nn\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
		},
		[]string{"nn/x_test.go:5: time.Sleep in a test"}},

	{"package comments", "doc",
		map[string]string{
			"nn/a.go":             "// Package nn is documented.\npackage nn\n",
			"nn/b.go":             "package nn\n",
			"memory/a.go":         "// Something else.\npackage memory\n",
			"kernels/gen.go":      "//go:build ignore\n\npackage main\n",
			"kernels/k.go":        "// Package kernels is documented.\npackage kernels\n",
			"examples/mlp/a.go":   "// Mlp trains.\npackage main\n",
			"examples/oom/a.go":   "package main\n",
			"internal/x_test.go":  "package internal\n",
			"kernels/cpu/tags.go": "//go:build cgo && !ignore\n\npackage cpu\n",
		},
		[]string{
			"examples/oom/a.go:1: no file has a comment", "kernels/cpu/tags.go:1: no file has a comment",
			"memory/a.go:1: no file has a comment",
		}},
	{"comments of names", "doc",
		map[string]string{"nn/a.go": `// Package nn is documented.
package nn

func Bare() {}

// Told does it.
func Told() {}

type Plain struct{ Field int }

func (p *Plain) Method()        {}
func (p Plain) String() string  { return "" }
func (p hidden) Method()        {}
func (p *Generic[T]) Method()   {}

// Generic is told.
type Generic[T any] struct{}

const Loose = 1

// Numbers.
const (
	One = 1
	Two = 2
)

const (
	Three = 3 // a line comment counts
	// Exp, Log, Sqrt: elementwise.
	Exp
	Log
	Sine

	Sqrt
)

var Variable, other = 1, 2
`},
		[]string{
			"nn/a.go:4: exported Bare", "nn/a.go:9: exported Plain", "nn/a.go:11: exported Method",
			"nn/a.go:14: exported Method", "nn/a.go:19: exported Loose", "nn/a.go:32: exported Sine",
			"nn/a.go:34: exported Sqrt", "nn/a.go:37: exported Variable",
		}},

	{"long files", "size",
		map[string]string{
			"nn/long.go":       "package nn\n" + strings.Repeat("\n", maxLines),
			"nn/full.go":       "package nn\n" + strings.Repeat("\n", maxLines-1),
			"nn/long_test.go":  "package nn\n" + strings.Repeat("\n", maxTestLines),
			"nn/full_test.go":  "package nn\n" + strings.Repeat("\n", maxTestLines-1),
			"kernels/cpu/k.h":  strings.Repeat("\n", maxLines+1),
			"ARCHITECTURE.md":  strings.Repeat("\n", maxTestLines+1),
			"kernels/cpu/k2.c": strings.Repeat("\n", maxLines),
		},
		[]string{
			"kernels/cpu/k.h:0: 401 lines, at most 400", "nn/long.go:0: 401 lines, at most 400",
			"nn/long_test.go:0: 601 lines, at most 600",
		}},

	{"notes to self", "words",
		map[string]string{
			"nn/a.go":   "package nn\n\n// " + note + ": later.\n",
			"Makefile":  "# FIX" + "ME\n",
			"README.md": "fine\n\nXX" + "X here\n",
			".ci/run":   "mktemp /tmp/XXXX" + "XX # not a note, nor is " + note + "s\n",
		},
		[]string{"Makefile:1: FIX", "README.md:3: XX", "nn/a.go:3: " + note}},

	{"form", "gofmt",
		map[string]string{
			"nn/a.go": "package nn\n\nfunc f()  {}\n",
			"nn/b.go": "package nn\n\nfunc f() {}\n",
		},
		[]string{"nn/a.go:3: not formatted"}},
}

func treeOf(t *testing.T, files map[string]string) *Tree {
	tree := &Tree{fset: token.NewFileSet()}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, tree.add(name, []byte(files[name])), name)
	}
	return tree
}

func TestRulesFind(t *testing.T) {
	for _, s := range snippets {
		t.Run(s.rule+"/"+s.name, func(t *testing.T) {
			var got []string
			for _, f := range Check(treeOf(t, s.files)) {
				if f.Rule == s.rule {
					got = append(got, fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Msg))
				}
			}
			require.Len(t, got, len(s.want), "%q", got)
			for i, want := range s.want {
				require.Truef(t, strings.HasPrefix(got[i], want), "got  %s\nwant %s", got[i], want)
			}
		})
	}
}

// A rule that no snippet breaks could be a rule that never fails.
func TestEveryRuleCanFail(t *testing.T) {
	fails := map[string]bool{}
	for _, s := range snippets {
		fails[s.rule] = fails[s.rule] || len(s.want) > 0
	}
	for _, r := range Rules() {
		require.True(t, fails[r.Name], "no snippet breaks rule %s", r.Name)
		require.NotEmpty(t, r.Why)
		delete(fails, r.Name)
	}
	require.Empty(t, fails, "snippets of rules that do not exist")
}

func TestAllowances(t *testing.T) {
	defer func(old map[string]allowance) { oversize = old }(oversize)
	oversize = map[string]allowance{
		"nn/table.go":  {500, "a generated table"},
		"nn/longer.go": {450, "too small an allowance"},
		"nn/short.go":  {500, "not needed any more"},
		"nn/gone.go":   {500, "not there any more"},
	}
	tree := treeOf(t, map[string]string{
		"nn/table.go":  "package nn\n" + strings.Repeat("\n", 480),
		"nn/longer.go": "package nn\n" + strings.Repeat("\n", 480),
		"nn/short.go":  "package nn\n",
	})
	var got []string
	checkSize(tree, func(path string, _ int, format string, args ...any) {
		got = append(got, path+": "+fmt.Sprintf(format, args...))
	})
	slices.Sort(got)
	require.Equal(t, []string{
		"nn/gone.go: allowance for a file that is not there",
		"nn/longer.go: 481 lines, at most 450: split it by what it is about",
		"nn/short.go: 1 lines fit the budget: take its allowance away",
	}, got)
}

func TestAllowancesHaveReasons(t *testing.T) {
	for name, a := range oversize {
		require.NotEmpty(t, a.reason, name)
	}
	require.LessOrEqual(t, len(oversize), 5, "a list of exceptions that is long is the rule")
}

func TestMatch(t *testing.T) {
	for pattern, cases := range map[string]map[string]bool{
		"...":   {"": true, "a": true, "a/b": true},
		"a/...": {"a": true, "a/b": true, "a/b/c": true, "ab": false, "b/a": false},
		"a":     {"a": true, "a/b": false},
	} {
		for name, want := range cases {
			require.Equal(t, want, match(pattern, name), "%s ~ %s", pattern, name)
		}
	}
}

func TestLoadSkips(t *testing.T) {
	for dir, want := range map[string]bool{
		".git": true, "_old": true, "testdata": true, "build": true, ".ci": false, "nn": false,
	} {
		require.Equal(t, want, skipped(dir), dir)
	}
	tree := &Tree{fset: token.NewFileSet()}
	require.NoError(t, tree.add("image.gz", []byte{0x1f, 0x8b, 0}))
	require.Empty(t, tree.texts)
	require.Error(t, tree.add("nn/broken.go", []byte("package nn\n\nfunc {")))
}
