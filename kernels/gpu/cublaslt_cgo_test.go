//go:build cgo && (linux || darwin)

package gpu

import (
	endian "encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cublaslt"
	"tarn/kernels"
)

// loops multiplies on the host, through copies, and spoils its workspace.
type loops struct {
	c          *cuda.Context
	runs       int
	workspace  int64
	err        error // of everything
	closed     int
	lastStream cuda.Stream
}

func (l *loops) Workspace(cublaslt.Product) (int64, error) { return l.workspace, l.err }

func (l *loops) Close() error {
	l.closed++
	return nil
}

func (l *loops) Run(s cuda.Stream, p cublaslt.Product, work cuda.DevicePtr) error {
	if l.err != nil {
		return l.err
	}
	if work%blasAlignment != 0 {
		return fmt.Errorf("workspace at %#x", uintptr(work))
	}
	if l.workspace > 0 {
		if err := l.c.Fill8(s, work, 0xee, l.workspace); err != nil {
			return err
		}
	}
	l.runs++
	l.lastStream = s
	for i := range p.Batch {
		for r := range p.M {
			for c := range p.N {
				if err := l.element(s, p, i, r, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *loops) element(s cuda.Stream, p cublaslt.Product, i, r, c int64) (err error) {
	size := 4 + 4*int64(p.Type)
	at := func(m cublaslt.Matrices, row, col int64) cuda.DevicePtr {
		return m.Ptr + cuda.DevicePtr((i*m.Batch+row*m.Row+col*m.Col)*size)
	}
	b := make([]byte, size)
	load := func(m cublaslt.Matrices, row, col int64) float64 {
		err = errors.Join(err, l.c.Download(s, b, at(m, row, col)))
		if size == 8 {
			return math.Float64frombits(endian.NativeEndian.Uint64(b))
		}
		return float64(math.Float32frombits(endian.NativeEndian.Uint32(b)))
	}
	sum := 0.0
	for k := range p.K {
		sum += load(p.X, r, k) * load(p.Y, k, c)
	}
	if p.Accumulate {
		sum += load(p.Out, r, c)
	}
	if p.Bias.Ptr != 0 {
		sum += load(p.Bias, r, c)
	}
	if p.Rectify {
		sum = max(sum, 0)
	}
	if size == 8 {
		endian.NativeEndian.PutUint64(b, math.Float64bits(sum))
	} else {
		endian.NativeEndian.PutUint32(b, math.Float32bits(float32(sum)))
	}
	return errors.Join(err, l.c.Upload(s, at(p.Out, r, c), b))
}

// newLibraryLab is newMatMulLab with loops as the library that was asked for.
func newLibraryLab(t *testing.T, d kernels.DType) (*matmulLab, *loops) {
	t.Setenv(matmulSetting, "cublaslt")
	lab := newMatMulLab(t, d)
	library := &loops{c: lab.k.context}
	require.NotNil(t, lab.k.blas.open)
	lab.k.blas.open = func() (multiplier, error) { return library, nil }
	return lab, library
}

// multiplied runs a product with the workspace that the op asks for, which is
// aligned to 16 bytes and no better, and compares it with the reference.
func (l *matmulLab) multiplied(out *matrix, attr kernels.Attr, in ...*matrix) {
	l.Helper()
	a, op := l.args(out, attr, in...), l.k.Table()[kernels.MatMul]
	if n := op.Workspace(a); n > 0 {
		a.Work.Ptr = uintptr(l.alloc(make([]byte, n+16))) + 16
	}
	require.NoError(l, op.Run(l.k.Queue(0), a))
	got := l.fetch(out)
	l.near(l.reference(out, attr, in...), got, in[0].view.Dims[1], attr)
}

// TestLibraryMultiplies: what the library is told of operands that lie anyhow is
// the product.
func TestLibraryMultiplies(t *testing.T) {
	for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
		l, library := newLibraryLab(t, d)
		library.workspace = 1000
		const m, n, k = 5, 3, 4
		runs := 0
		for i, xs := range lies(m, k) {
			for j, ys := range lies(k, n) {
				outs := lies(m, n)[(i+j)%6]
				x, y := l.matrix(0, []int64{m, k}, xs[:]), l.matrix(0, []int64{k, n}, ys[:])
				out, bias := l.matrix(1, []int64{m, n}, outs[:]), l.matrix(0, []int64{m, n}, []int64{0, 1})
				switch i % 3 {
				case 0:
					l.multiplied(out, kernels.Attr{Activation: kernels.Rectify}, x, y, bias)
				case 1:
					l.multiplied(out, kernels.Attr{Accumulate: true}, x, y)
				case 2:
					l.multiplied(out, kernels.Attr{}, x, y, bias)
				}
				runs++
			}
		}
		require.Equal(t, runs, library.runs)
		require.NoError(t, l.k.Close())
		require.NoError(t, l.k.Close())
		require.Equal(t, 1, library.closed)
	}
}

func TestLibraryMultipliesBatch(t *testing.T) {
	l, library := newLibraryLab(t, kernels.Float32)
	const batch, m, n, k = 3, 5, 4, 6
	x, y := l.matrix(0, []int64{batch, m, k}, []int64{m*k + 8, k, 1}), l.matrix(0, []int64{batch, k, n}, []int64{0, 1, k})
	bias, out := l.matrix(0, []int64{batch, m, n}, []int64{n, 0, 1}), l.matrix(0, []int64{batch, m, n}, []int64{m * n, n, 1})
	for _, workspace := range []int64{0, 4096} {
		library.workspace = workspace
		a := l.args(out, kernels.Attr{}, x, y, bias)
		op := l.k.Table()[kernels.MatMul]
		if n := op.Workspace(a); workspace == 0 {
			require.Zero(t, n)
		} else {
			require.GreaterOrEqual(t, n, workspace)
			a.Work.Ptr = uintptr(l.alloc(make([]byte, n)))
		}
		s, err := l.k.context.NewStream(0)
		require.NoError(t, err)
		require.NoError(t, op.Run(l.k.Queue(s), a))
		require.Equal(t, s, library.lastStream)
		require.NoError(t, l.k.context.DestroyStream(s))
		got := l.fetch(out)
		l.near(l.reference(out, kernels.Attr{}, x, y, bias), got, k, "batch")
	}
	require.Equal(t, 2, library.runs)
}

// TestLibraryRefuses: our kernels do what the library does not, and nothing more
// comes of it.
func TestLibraryRefuses(t *testing.T) {
	l, library := newLibraryLab(t, kernels.Float32)
	library.err = &cublaslt.Error{Op: "cublasLtMatmulAlgoGetHeuristic", Code: 15}
	x, y := l.matrix(0, []int64{9, 400}, []int64{400, 1}), l.matrix(0, []int64{400, 9}, []int64{9, 1})
	out, bias := l.matrix(0, []int64{9, 9}, []int64{9, 1}), l.matrix(0, []int64{9, 9}, []int64{0, 1})
	l.multiplied(out, kernels.Attr{Activation: kernels.Rectify}, x, y, bias)

	library.err = errors.New("out of order")
	a := l.args(out, kernels.Attr{}, x, y)
	a.Work.Ptr = uintptr(l.alloc(make([]byte, 1<<20)))
	require.Equal(t, library.err, l.k.Table()[kernels.MatMul].Run(l.k.Queue(0), a))
	require.NoError(t, l.k.do(kernels.Exp, 0, []kernels.View{out.view}, out.view), "an op that is no product")
}

// TestLibraryOnlyIfAsked: who asks for it by name is told why there is none, and
// who asks for what there is not what there is.
func TestLibraryOnlyIfAsked(t *testing.T) {
	product := func(k *Kernels) error {
		x := k.matrix(t, []float32{1, 2, 3, 4}, 2, 2)
		out := k.matrix(t, make([]float32, 4), 2, 2)
		return k.do(kernels.MatMul, 0, []kernels.View{out}, x, x)
	}
	for _, value := range []string{"", "tarn"} {
		t.Setenv(matmulSetting, value)
		k := simulated(t)
		require.Nil(t, k.blas.open)
		require.NoError(t, product(k))
	}

	t.Setenv(matmulSetting, "cublaslt")
	k := simulated(t)
	reason := errors.New("no such library")
	k.blas.open = func() (multiplier, error) { return nil, reason }
	for _, err := range []error{k.Load(), product(k)} {
		require.ErrorIs(t, err, reason)
		require.EqualError(t, err, "gpu: TARN_MATMUL asks for cuBLASLt: no such library")
	}
	library := &loops{c: k.context}
	k.blas.open = func() (multiplier, error) { return library, nil }
	require.NoError(t, k.Load(), "it is there now")
	require.NoError(t, product(k))
	require.Equal(t, 1, library.runs)
	require.NoError(t, k.Close())
	require.ErrorIs(t, product(k), cuda.ErrClosed)

	t.Setenv(matmulSetting, "mkl")
	k = simulated(t)
	for _, err := range []error{k.Load(), product(k)} {
		require.EqualError(t, err, `gpu: TARN_MATMUL is "mkl", may be "tarn", "cublaslt" or nothing`)
	}
}

// TestDriverCuBLASLt compares the library with our kernels, on a machine with a
// GPU and cuBLASLt.
func TestDriverCuBLASLt(t *testing.T) {
	driver, err := cuda.Open()
	if err != nil {
		t.Skipf("no usable CUDA driver on this machine: %v", err)
	}
	device, err := driver.Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	ours := New(c)
	t.Cleanup(func() { require.NoError(t, ours.Close()) })
	t.Setenv(matmulSetting, "cublaslt")
	theirs := New(c)
	t.Cleanup(func() { require.NoError(t, theirs.Close()) })
	if _, err := theirs.blas.get(); err != nil {
		t.Skipf("no usable cuBLASLt on this machine: %v", err)
	}
	for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
		l := &matmulLab{t, ours, d, rand.New(rand.NewPCG(1, 2))}
		for i, s := range []matmulShape{{m: 64, n: 256, k: 784}, {m: 257, n: 127, k: 65}, {m: 1, n: 600, k: 513}, {m: 130, n: 70, k: 40}} {
			for j, xs := range lies(s.m, s.k)[:4] {
				ys, outs := lies(s.k, s.n)[(i+j)%4], lies(s.m, s.n)[j]
				x, y := l.matrix(0, []int64{s.m, s.k}, xs[:]), l.matrix(0, []int64{s.k, s.n}, ys[:])
				bias := l.matrix(0, []int64{s.m, s.n}, []int64{0, 1})
				for _, attr := range []kernels.Attr{{}, {Accumulate: true}, {Activation: kernels.Rectify}} {
					out := l.matrix(0, []int64{s.m, s.n}, outs[:])
					again, in := l.like(out, 0, outs), []*matrix{x, y}
					if !attr.Accumulate {
						in = append(in, bias)
					}
					l.run(ours, out, attr, in)
					l.run(theirs, again, attr, in)
					l.near(l.fetch(out), l.fetch(again), s.k, fmt.Sprint(s, attr))
				}
			}
		}
	}
}

// run does a product by the ops k.
func (l *matmulLab) run(k *Kernels, out *matrix, attr kernels.Attr, in []*matrix) {
	a, op := l.args(out, attr, in...), k.Table()[kernels.MatMul]
	if n := op.Workspace(a); n > 0 {
		a.Work.Ptr = uintptr(l.alloc(make([]byte, n)))
	}
	require.NoError(l, op.Run(k.Queue(0), a))
}
