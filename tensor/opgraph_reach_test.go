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
	"MulScalar": "Affine", "AddScalar": "Affine", "LinearReLU": "Linear", "LayerNormDims": "LayerNorm", "RMSNormDims": "RMSNorm",
	"MaxPool2DIndices": "MaxPool2D", "MaxPool1DIndices": "MaxPool1D", "SplitSizes": "Split", "Contiguous": "Clone",
}

// TestOpGraphsReachEveryOp draws programs without running them anywhere else. Each
// op of the table is in several, and behind a root where it has a gradient.
func TestOpGraphsReachEveryOp(t *testing.T) {
	reference := newReference(t)
	calls, graded := map[string]int{}, map[string]int{}
	for seed := range uint64(300) {
		p, err := drawProgram("seed "+strconv.FormatUint(seed, 10), bytesOf(seed), reference, map[string]int{})
		require.NoError(t, err)
		needed := p.behindRoots()
		for i, st := range p.steps {
			if st.call == nil {
				continue
			}
			name := strings.TrimSuffix(st.call.name, "Keep")
			if other, ok := graphNames[name]; ok {
				name = other
			}
			calls[name]++
			if needed[i] {
				graded[name]++
			}
		}
	}
	for _, op := range tensor.Ops() {
		if calls[op.Name] < 3 {
			t.Errorf("%d calls of %s", calls[op.Name], op.Name)
		}
		if op.Differentiable && graded[op.Name] == 0 {
			t.Errorf("no gradient of %s", op.Name)
		}
	}
	t.Logf("calls %v\nbehind a root %v", calls, graded)
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
		if needed[i] && st.call != nil {
			st.call.operands(func(v value) { wanted[v] = true })
		}
	}
	return needed
}
