//go:build cgo && (linux || darwin)

package gpu

import (
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
	"tarn/kernels/kerneltest"
)

func TestConformance(t *testing.T) {
	k := simulatedAs(t, cudasim.Config{SharedRaces: true})
	kerneltest.RunOn(t, "simulated", k.Table(), place{k}, 4)
}

// TestWideConformance holds the kernels of 64-bit indices to the suite, with so
// few blocks that each goes on to further elements.
func TestWideConformance(t *testing.T) {
	k := simulated(t)
	k.wide, k.mostBlocks = true, 3
	var only []kernels.DType
	if testing.Short() {
		only = []kernels.DType{kernels.Float32}
	}
	kerneltest.RunOn(t, "simulated", k.Table(), place{k}, 40, only...)
}

// TestFewBlocks is TestConformance with so few blocks.
func TestFewBlocks(t *testing.T) {
	k := simulatedAs(t, cudasim.Config{SharedRaces: true})
	k.mostBlocks = 3
	kerneltest.RunOn(t, "simulated", k.Table(), place{k}, 40, kernels.Float32)
}

// TestBlocksGoOn: the blocks that share long rows take one after the other, with
// the same results to the bit.
func TestBlocksGoOn(t *testing.T) {
	k := simulatedAs(t, cudasim.Config{SharedRaces: true})
	const rows, cols = 7, 1031
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(i%101) / 8
	}
	logits, classes := k.matrix(t, x, rows, cols), k.integers(t, []int64{0, 1, 2, 3, 4, 5, 1030})
	sums, loss, dloss := k.matrix(t, make([]float32, rows), rows, 1), k.scalar(t, 0), k.scalar(t, 1)
	grad := k.matrix(t, x, rows, cols)
	work := k.alloc(t, rows*8)
	results := func(blocks int64) (all []float32) {
		k.mostBlocks = blocks
		a := kernels.NewArgs()
		defer a.Put()
		a.Out, a.In, a.Work.Ptr = append(a.Out, loss), append(a.In, logits, classes), uintptr(work)
		require.NoError(t, k.table[kernels.CrossEntropy].Run(k.Queue(0), a))
		a.Out, a.In, a.Attr.Alpha = append(a.Out[:0], sums), append(a.In[:0], logits), 1
		require.NoError(t, k.table[kernels.Sum].Run(k.Queue(0), a))
		require.NoError(t, k.do(kernels.CrossEntropyGrad, 0, []kernels.View{grad}, dloss, logits, classes))
		for _, v := range []kernels.View{sums, loss, grad} {
			all = append(all, k.values(t, v)...)
		}
		return all
	}
	require.Equal(t, results(1<<16), results(2))
}

func FuzzOps(f *testing.F) {
	k := simulated(f)
	kerneltest.FuzzOn(f, k.Table(), place{k})
}

// TestLoad: all kernels are in their modules, on a device of each generation
// that modules ask for.
func TestLoad(t *testing.T) {
	for _, c := range []cudasim.Config{{Major: 7, Minor: 5}, {Major: 8}} {
		k := simulatedAs(t, c)
		require.NoError(t, k.Load())
		for _, m := range modules {
			l := &k.loaded[m.index]
			require.Equal(t, c.Major >= m.major, l.functions.Load() != nil, m.name)
		}
		require.NoError(t, k.Load())
	}
}

func TestTable(t *testing.T) {
	k := simulated(t)
	for id := range kernels.ID(kernels.NumOps) {
		op := k.Table()[id]
		require.NotNil(t, op, "%v", id)
		require.Equal(t, id, op.ID)
		require.Equal(t, id.DTypes(), op.DTypes, "%v", id)
	}
	require.Equal(t, cuda.Stream(7), k.Queue(7).Stream())
}

// TestFirstUse: a module is loaded once however many ask for it at a time.
func TestFirstUse(t *testing.T) {
	k := simulated(t)
	x := k.vector(t, []float32{1, 4, 9})
	y := k.vector(t, make([]float32, 3))
	var wait sync.WaitGroup
	for range 8 {
		s, err := k.context.NewStream(0)
		require.NoError(t, err)
		out := k.vector(t, make([]float32, 3))
		wait.Go(func() {
			if err := k.do(kernels.Sqrt, s, []kernels.View{out}, x); err != nil {
				t.Error(err)
			}
			if err := k.context.SyncStream(s); err != nil {
				t.Error(err)
			}
			if err := k.context.DestroyStream(s); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	require.NoError(t, k.do(kernels.Sqrt, 0, []kernels.View{y}, x))
	require.Equal(t, []float32{1, 2, 3}, k.values(t, y))
}

func TestClose(t *testing.T) {
	k := simulated(t)
	x := k.vector(t, []float32{1})
	require.NoError(t, k.do(kernels.Exp, 0, []kernels.View{x}, x))
	require.NoError(t, k.context.SyncStream(0))
	require.NoError(t, k.Close())
	require.ErrorIs(t, k.do(kernels.Exp, 0, []kernels.View{x}, x), cuda.ErrClosed)
	require.ErrorIs(t, k.Load(), cuda.ErrClosed)
	require.NoError(t, k.Fault())
	require.NoError(t, k.Close())
}

// TestFault: a class that is none is told once, after the work, and makes the
// loss NaN, and the row's gradient 0 whatever its logits are.
func TestFault(t *testing.T) {
	k := simulated(t)
	const rows, cols = 5, 3
	logits := k.matrix(t, make([]float32, rows*cols), rows, cols)
	classes := k.integers(t, []int64{0, 1, 7, 2, -4})
	loss, dloss := k.scalar(t, 0), k.scalar(t, rows)
	grad := k.matrix(t, make([]float32, rows*cols), rows, cols)
	require.NoError(t, k.Fault())

	work := k.alloc(t, rows*8)
	run := func() {
		a := kernels.NewArgs()
		defer a.Put()
		a.Out, a.In = append(a.Out, loss), append(a.In, logits, classes)
		a.Work.Ptr = uintptr(work)
		require.NoError(t, k.Table()[kernels.CrossEntropy].Run(k.Queue(0), a))
		require.NoError(t, k.context.SyncStream(0))
	}
	run()
	var e *kernels.Error
	require.ErrorAs(t, k.Fault(), &e)
	require.ErrorIs(t, e, kernels.ErrIndex)
	require.Equal(t, kernels.CrossEntropy, e.Op)
	require.Contains(t, []string{"class 7 in row 2", "class -4 in row 4"}, e.Detail)
	require.NoError(t, k.Fault(), "told twice")
	require.True(t, math.IsNaN(float64(k.values(t, loss)[0])))

	require.NoError(t, k.do(kernels.CrossEntropyGrad, 0, []kernels.View{grad}, dloss, logits, classes))
	require.NoError(t, k.context.SyncStream(0))
	require.ErrorContains(t, k.Fault(), "cross_entropy_grad")
	for i, x := range k.values(t, grad) {
		bad := i/cols == 2 || i/cols == 4
		require.Equal(t, bad, x == 0, "element %d is %v", i, x)
		require.False(t, math.IsNaN(float64(x)), "element %d", i)
	}

	good := []int64{0, 1, 0, 2, 1}
	require.NoError(t, k.context.Upload(0, cuda.DevicePtr(classes.Ptr), bytesOf(good)))
	run()
	require.NoError(t, k.Fault())
	require.InDelta(t, math.Log(cols), float64(k.values(t, loss)[0]), 1e-6)
}

// TestCapture: after Load, ops can be captured, and do their work at each launch
// of the graph.
func TestCapture(t *testing.T) {
	k := simulated(t)
	require.NoError(t, k.Load())
	c := k.context
	s, err := c.NewStream(0)
	require.NoError(t, err)
	x, sum := k.matrix(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3), k.matrix(t, make([]float32, 2), 2, 1)
	turned := x
	turned.Dims, turned.Strides = [kernels.MaxRank]int64{3, 2}, [kernels.MaxRank]int64{1, 3}
	y := k.matrix(t, make([]float32, 6), 3, 2)

	require.NoError(t, c.BeginCapture(s))
	require.NoError(t, k.do(kernels.Add, s, []kernels.View{x}, x, x))
	require.NoError(t, k.do(kernels.Copy, s, []kernels.View{y}, turned))
	require.NoError(t, k.do(kernels.Fill, s, []kernels.View{sum}))
	require.NoError(t, k.do(kernels.Max, s, []kernels.View{sum}, x))
	graph, err := c.EndCapture(s)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, k.values(t, x))
	exec, err := graph.Instantiate()
	require.NoError(t, err)
	require.NoError(t, exec.Launch(s))
	require.NoError(t, exec.Launch(s))
	require.NoError(t, c.SyncStream(s))
	require.Equal(t, []float32{4, 16, 8, 20, 12, 24}, k.values(t, y))
	require.Equal(t, []float32{12, 24}, k.values(t, sum))
	require.NoError(t, exec.Close())
	require.NoError(t, graph.Close())
	require.NoError(t, c.DestroyStream(s))
}

// TestManyParameters: more parameters than a table holds, of lengths around a
// block's piece, some at odd places.
func TestManyParameters(t *testing.T) {
	k := simulated(t)
	a := kernels.NewArgs()
	defer a.Put()
	a.Attr.SGD = kernels.SGDAttr{LR: 1}
	const n = 2*tableMost + 3
	for i := range n {
		length := []int{1, 5, 0, tablePiece, tablePiece + 1}[i%5]
		p := k.vector(t, make([]float32, length+1))
		g := make([]float32, length+1)
		for j := range g {
			g[j] = -float32(i + 1)
		}
		grad := k.vector(t, g)
		p.Dims[0], grad.Dims[0] = int64(length), int64(length)
		if i%2 == 1 {
			p.Ptr, grad.Ptr = p.Ptr+4, grad.Ptr+4
		}
		a.Out, a.In = append(a.Out, p), append(a.In, grad)
	}
	require.NoError(t, k.Table()[kernels.SGDStep].Run(k.Queue(0), a))
	for i, p := range a.Out {
		for _, x := range k.values(t, p) {
			require.Equal(t, float32(i+1), x, "parameter %d", i)
		}
	}
}

func bytesOf[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}
