package tensor_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// graphNames are the ops that programs call by another name than the table's.
var graphNames = map[string]string{
	"MulScalar": "Affine", "AddScalar": "Affine", "DivScalar": "Div", "LinearReLU": "Linear", "LayerNormDims": "LayerNorm", "RMSNormDims": "RMSNorm",
	"MaxPool2DIndices": "MaxPool2D", "MaxPool1DIndices": "MaxPool1D", "SplitSizes": "Split", "Contiguous": "Clone",
}

// graphCauses are the errors that programs run into: while they are built, and in
// a backward.
var graphCauses = map[string][]error{
	"step":  {tensor.ErrInPlace, tensor.ErrNoHistory, tensor.ErrReleased, tensor.ErrScope, tensor.ErrShape, tensor.ErrDType, tensor.ErrGraphFreed, errGraphHook},
	"call":  {tensor.ErrShape, tensor.ErrDType, tensor.ErrScope, tensor.ErrReleased},
	"round": {tensor.ErrInPlace, tensor.ErrReleased, tensor.ErrGraphFreed, errGraphHook},
	"Grad":  {tensor.ErrInPlace, tensor.ErrNoHistory, errGraphHook},
	"root":  {tensor.ErrGraphFreed},
}

// graphReach counts what programs do.
type graphReach struct {
	calls, graded, acts, handles map[string]int
	failures                     map[string]string // all of a kind, by what failed
}

// TestOpGraphsReachEverything draws programs, and runs them on the reference
// alone. Each op of the table is in several, and behind a root where it has a
// gradient; each act is done; and each error is met where it may come up.
func TestOpGraphsReachEverything(t *testing.T) {
	reference := newGraphMachine(t, "reference", newReference(t))
	n := graphReach{calls: map[string]int{}, graded: map[string]int{}, acts: map[string]int{}, handles: map[string]int{}, failures: map[string]string{}}
	for seed := range uint64(800) {
		p, err := drawProgram("seed "+strconv.FormatUint(seed, 10), bytesOf(seed), reference, map[string]int{})
		require.NoError(t, err)
		o, err := reference.run(p, nil)
		require.NoError(t, err, "seed %d", seed)
		n.count(p, o)
	}
	for _, op := range tensor.Ops() {
		if n.calls[op.Name] < 3 {
			t.Errorf("%d calls of %s", n.calls[op.Name], op.Name)
		}
		if op.Differentiable && n.graded[op.Name] == 0 {
			t.Errorf("no gradient of %s", op.Name)
		}
	}
	for _, name := range []string{
		"AddInPlace", "SubInPlace", "MulInPlace", "CopyInPlace", "Fill", "RandUniform", "OnGrad looks", "OnGrad scales", "OnGrad detaches",
		"OnGrad clones", "OnGrad fails", "OnGrad removed", "AfterGrad looks", "AfterGrad zeroes", "AfterGrad fails", "KeepGrad", "ZeroGrad",
		"Backward", "Release", "open", "close", "Keep", "Checkpoint",
	} {
		if n.acts[name] < 3 {
			t.Errorf("%s is done %d times", name, n.acts[name])
		}
	}
	for kind, causes := range graphCauses {
		for _, cause := range causes {
			if !strings.Contains(n.failures[kind], cause.Error()) {
				t.Errorf("no %s fails with %q", kind, cause)
			}
		}
	}
	t.Logf("calls %v\nbehind a root %v\nacts %v\nhandles %v", n.calls, n.graded, n.acts, n.handles)
}

func (n *graphReach) count(p *graphProgram, o graphOutcome) {
	needed := p.behindRoots()
	for i, st := range p.steps {
		_, failed := o.failures["step "+strconv.Itoa(i)]
		switch {
		case st.act != nil && !failed:
			name := st.act.name
			if strings.HasSuffix(name, "erGrad") || name == "OnGrad" {
				name += " " + st.act.how
			}
			n.acts[name]++
		case st.block != nil:
			n.acts["Checkpoint"]++
		case st.call != nil:
			for _, h := range st.call.handles {
				n.handles[h.how]++
			}
			name := strings.TrimSuffix(st.call.name, "Keep")
			if other, ok := graphNames[name]; ok {
				name = other
			}
			n.calls[name]++
			if needed[i] {
				n.graded[name]++
			}
		}
	}
	for what, class := range o.failures {
		kind, _, _ := strings.Cut(what, " ")
		n.failures[kind] += class + "\n"
	}
}

// behindRoots are the steps that a root's value hangs on.
func (p *graphProgram) behindRoots() map[int]bool {
	wanted, needed := map[value]bool{}, map[int]bool{}
	for _, v := range p.roots {
		wanted[v] = true
	}
	for i := len(p.steps) - 1; i >= 0; i-- {
		st := &p.steps[i]
		for k := range st.results {
			needed[i] = needed[i] || wanted[st.first+value(k)]
		}
		if needed[i] {
			st.operands(func(v value) { wanted[v] = true })
		}
	}
	return needed
}

// calls counts those of p by name.
func (p *graphProgram) calls() map[string]int {
	n := map[string]int{}
	count := func(steps []graphStep) {
		for i := range steps {
			if c := steps[i].call; c != nil {
				n[c.name]++
			}
		}
	}
	count(p.steps)
	for i := range p.steps {
		if b := p.steps[i].block; b != nil {
			count(b.steps)
		}
	}
	return n
}
