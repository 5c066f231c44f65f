package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
)

// faulty is memory of the host with a pool of its own, so that each block that an
// op asks for is a call here. The launches of kernels are calls too, and one call
// can fail.
type faulty struct {
	memory.Upstream
	left   int // calls until the one that fails; 0 for none
	struck bool
}

var errFaulty = errors.New("told to fail")

func (f *faulty) Props() memory.Props {
	p := f.Upstream.Props()
	p.StreamOrdered = true
	return p
}

func (f *faulty) AllocAsync(size int64, _ cuda.Stream) (cuda.DevicePtr, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.Alloc(size)
}

func (f *faulty) FreeAsync(p cuda.DevicePtr, size int64, _ cuda.Stream) error { return f.Free(p, size) }

func (f *faulty) TrimPool() error { return nil }

// kernels returns the ops of the CPU, whose launches count.
func (f *faulty) kernels() *kernels.Table {
	table := *cpu.Table()
	for id, op := range table {
		if op == nil {
			continue
		}
		counted := *op
		counted.Run = func(q kernels.Queue, a *kernels.Args) error {
			if err := f.call(); err != nil {
				return err
			}
			return op.Run(q, a)
		}
		table[id] = &counted
	}
	return &table
}

func (f *faulty) call() error {
	if f.left > 0 {
		if f.left--; f.left == 0 {
			f.struck = true
			return errFaulty
		}
	}
	return nil
}

// fail makes the n-th call from now on fail, and no other.
func (f *faulty) fail(n int) { f.left, f.struck = n, false }

// TestOpsWhoseCallsFail has each allocation and each launch of each op, forwards and
// backwards, fail in turn: the error is told, and nothing of the op is left, even
// before its scope is closed.
func TestOpsWhoseCallsFail(t *testing.T) {
	up, err := hostmem.New(hostmem.Config{})
	require.NoError(t, err)
	f := &faulty{Upstream: up}
	d, err := tensor.NewDevice(tensor.NewHostBackend(f, f.kernels()), memory.Config{Settings: memory.Settings{Backend: "cudaMallocAsync"}})
	require.NoError(t, err)
	bench := &opBench{reference: newReference(t)}
	failures := 0
	for _, op := range tensor.Ops() {
		t.Run(op.Name, func(t *testing.T) {
			for i, s := range opSamples[op.Name] {
				for n, dt := range op.DTypes {
					if (i+n)%2 != 0 { // types take turns
						continue
					}
					r := failing{op: op, s: s, dt: dt, data: s.data(t, bench, dt, layouts[0], uint64(i)), f: f, d: d}
					r.says = fmt.Sprintf("%s of %v %v", op.Name, dt, s)
					failures += r.try(t)
				}
			}
		})
	}
	require.NoError(t, d.Memory().Check())
	require.Zero(t, live(d))
	t.Logf("%d calls failed", failures)
}

// failing is an op on one sample, whose calls fail.
type failing struct {
	op   tensor.OpInfo
	s    opSample
	dt   tensor.DType
	data [][]float64
	says string
	f    *faulty
	d    *tensor.Device
	// result is the sample's, where it is to be gone back from; nil until it is made
	result *tensor.Tensor
}

// try has the first call fail, then the second, until all succeed. It returns
// how many failed.
func (r *failing) try(t *testing.T) int {
	y, left := r.run(t, 0)
	if r.differentiates() {
		r.result = y
		_, left = r.run(t, 0)
	}
	// What the sample itself does not release is left after a success too.
	for n := 1; ; n++ {
		_, more := r.run(t, n)
		if !r.f.struck {
			return n - 1
		}
		require.LessOrEqual(t, more, left, "%s: bytes left when call %d failed", r.says, n)
	}
}

func (r *failing) differentiates() bool {
	return r.op.Differentiable && !r.s.constant && r.dt.IsFloat()
}

// run makes the sample's result and its gradients while call n fails. It
// returns the bytes that this left beside the inputs.
func (r *failing) run(t *testing.T, n int) (y *tensor.Tensor, left int64) {
	scope := tensor.NewScope()
	leaves, seen := r.s.make(t, r.d.In(scope), r.dt, layouts[0], r.data)
	for i, in := range r.s.in {
		if in.isLeaf() && r.differentiates() {
			seen[i] = seen[i].RequireGrad()
		}
	}
	var upstream *tensor.Tensor
	if r.result != nil {
		upstream = tensor.Ones(r.d.In(scope), r.result.DType(), r.result.Shape()...)
	}
	before := live(r.d)
	r.f.fail(n)
	y = r.s.f(seen)
	err := y.Err()
	if err == nil && upstream != nil {
		err = y.BackwardWith(upstream)
	}
	r.f.left = 0
	if r.f.struck {
		require.ErrorIs(t, err, errFaulty, r.says)
	} else {
		require.NoError(t, err, r.says)
	}
	require.NoError(t, y.Release(), r.says)
	for i := range leaves {
		require.NoError(t, seen[i].ZeroGrad(), r.says)
	}
	left = live(r.d) - before
	require.NoError(t, scope.Close(), r.says)
	require.Zero(t, live(r.d), "%s: bytes left when call %d failed and the scope is closed", r.says, n)
	return y, left
}
