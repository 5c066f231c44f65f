//go:build cgo && linux

package cublaslt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

// check runs a product whose sizes and flags are set, with operands that lie so,
// and compares each element with plain sums.
func (b *lab) check(p Product, xLie, yLie, outLie lie, biased bool) {
	b.Helper()
	defer b.release(len(b.held))
	step := func(l lie, rows, cols int64) int64 { return (rows-1)*l.row + (cols-1)*l.col + 5 }
	x := b.operand(p.Type, p.Batch, p.M, p.K, xLie, step(xLie, p.M, p.K))
	y := b.operand(p.Type, p.Batch, p.K, p.N, yLie, 0) // one for all
	out := b.operand(p.OutType, p.Batch, p.M, p.N, outLie, step(outLie, p.M, p.N))
	var bias matrices
	if biased {
		along := lie{"row", 0, 1, 1}
		if outLie.row == 1 && p.M > 1 {
			along = lie{"column", 1, 0, 3}
		}
		each := int64(0) // one for all, or one for each
		if p.Rectify {
			each = p.M + p.N
		}
		bias = b.operand(p.OutType, p.Batch, p.M, p.N, along, each)
	}
	p.X, p.Y, p.Out, p.Bias = x.Matrices, y.Matrices, out.Matrices, bias.Matrices
	what := fmt.Sprintf("%v into %v, %d products of %d by %d over %d, x in %s, y in %s, out in %s, bias %v, relu %v, accumulate %v",
		p.Type, p.OutType, p.Batch, p.M, p.N, p.K, xLie.name, yLie.name, outLie.name, biased, p.Rectify, p.Accumulate)
	err := b.l.Run(0, p, b.work)
	if b.lenient && errors.Is(err, ErrNotSupported) {
		b.Logf("%s: %v", what, err)
		return
	}
	require.NoError(b, err, what)
	require.NoError(b, b.c.SyncStream(0))
	got, strays := b.fetch(out)
	require.Equal(b, reference(p, x.values, y.values, out.values, bias.values), got, what)
	require.Zero(b, strays, what)
}

// TestProducts: all ways to lie, all types, bias, ReLU, accumulation, batches.
func TestProducts(t *testing.T) {
	b := newLab(t)
	types := [][2]Type{{Float32, Float32}, {Float64, Float64}, {BF16, Float32}, {BF16, BF16}, {F16, Float32}, {F16, F16}}
	i := 0
	for _, typ := range types {
		for _, x := range lies(7, 4) {
			for _, y := range lies(4, 5) {
				for _, out := range lies(7, 5) {
					for flags := range 8 {
						i++
						p := Product{Type: typ[0], OutType: typ[1], M: 7, N: 5, K: 4, Batch: 1 + int64(i%3),
							Rectify: flags&1 != 0, Accumulate: flags&2 != 0}
						b.check(p, x, y, out, flags&4 != 0)
					}
				}
			}
		}
	}
}

// TestThinProducts: what has one row, column or term may lie anyhow there.
func TestThinProducts(t *testing.T) {
	b := newLab(t)
	for _, n := range [][3]int64{{1, 5, 4}, {7, 1, 4}, {7, 5, 1}, {1, 1, 4}, {1, 1, 1}, {1, 5, 1}, {7, 1, 1}} {
		for _, x := range lies(n[0], n[2]) {
			for _, y := range lies(n[2], n[1]) {
				for _, out := range lies(n[0], n[1]) {
					apart := n[0] == 1 && n[1] > 1 && out.col > 1 // no dense run for a bias
					b.check(Product{M: n[0], N: n[1], K: n[2], Batch: 1}, x, y, out, !apart)
					b.check(Product{M: n[0], N: n[1], K: n[2], Batch: 2}, x, y, out, false)
				}
			}
		}
	}
}

// dense is a product of dense operands, without their values.
func (b *lab) dense(m, n, k int64) Product {
	floats := func(count int64) cuda.DevicePtr { return b.alloc(make([]byte, 4*count)) }
	return Product{M: m, N: n, K: k, Batch: 1, X: Matrices{floats(m * k), 0, k, 1}, Y: Matrices{floats(k * n), 0, n, 1},
		Out: Matrices{floats(m * n), 0, n, 1}}
}

// TestAskedOnce: the library is asked once about a product, whatever its
// addresses are as long as they are as well aligned.
func TestAskedOnce(t *testing.T) {
	b := newLab(t)
	asked, done := &b.counter("fake_lt_heuristics")[0], &b.counter("fake_lt_products")[0]
	p, q := b.dense(8, 16, 32), b.dense(8, 16, 32)
	p.Bias = Matrices{b.alloc(make([]byte, 68)), 0, 0, 1}
	q.Bias = Matrices{b.alloc(make([]byte, 64)), 0, 0, 1}
	q.X.Ptr, q.Y.Ptr, q.Out.Ptr, q.Bias.Ptr = near(p.X.Ptr, q.X.Ptr), near(p.Y.Ptr, q.Y.Ptr), near(p.Out.Ptr, q.Out.Ptr), near(p.Bias.Ptr, q.Bias.Ptr)
	for range 5 {
		require.NoError(t, b.l.Run(0, p, 0))
		require.NoError(t, b.l.Run(0, q, 0))
	}
	require.EqualValues(t, 1, *asked)
	require.EqualValues(t, 10, *done)
	p.M = 7
	require.NoError(t, b.l.Run(0, p, 0))
	require.EqualValues(t, 2, *asked)
	p.Bias.Ptr += 4
	require.NoError(t, b.l.Run(0, p, 0))
	require.EqualValues(t, 3, *asked)
	known, _, _, err := p.columns()
	require.NoError(t, err)
	require.NoError(t, b.l.ask(known, p.Bias.Ptr), "another has asked meanwhile")
	require.EqualValues(t, 3, *asked)
	require.Equal(t, 3, b.live("product"))
}

// near returns q if it is aligned like p, and p else.
func near(p, q cuda.DevicePtr) cuda.DevicePtr {
	if alignment(p) == alignment(q) {
		return q
	}
	return p
}

func TestWorkspace(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 101)
	size, err := b.l.Workspace(p)
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, size)
	require.NoError(t, b.l.Run(0, p, b.work))
	for _, bad := range []cuda.DevicePtr{0, b.work + 128} {
		require.EqualError(t, b.l.Run(0, p, bad),
			fmt.Sprintf("cublaslt: workspace of %d bytes at %#x, want a multiple of 256", size, uintptr(bad)))
	}
	size, err = b.l.Workspace(b.dense(4, 4, 100))
	require.NoError(t, err)
	require.Zero(t, size)
}

// TestRefused: what there are no words for is refused before the library is
// asked, and what the library does not do is remembered.
func TestRefused(t *testing.T) {
	b := newLab(t)
	asked := &b.counter("fake_lt_heuristics")[0]
	for _, c := range []struct {
		reason refusal
		spoil  func(p *Product)
	}{
		{badTypes, func(p *Product) { p.OutType = BF16 }},
		{badTypes, func(p *Product) { p.Type = Float64 }},
		{badTypes, func(p *Product) { p.Type = numTypes }},
		{badSizes, func(p *Product) { p.N = 1 << 31 }},
		{badFactor, func(p *Product) { p.X.Row = p.K - 1 }},
		{badFactor, func(p *Product) { p.Y.Row, p.Y.Col = 2*p.N, 2 }},
		{badOut, func(p *Product) { p.Out.Row, p.Out.Col = 2*p.N, 2 }},
		{badBias, func(p *Product) { p.Bias = Matrices{p.Out.Ptr, 0, 1, 0} }},
		{badBias, func(p *Product) { p.Bias = Matrices{p.Out.Ptr, 0, p.N, 1} }},
		{badBatches, func(p *Product) { p.Batch, p.X.Batch, p.Out.Batch = 2, -1, 100 }},
		{badBatches, func(p *Product) { p.Batch, p.Bias, p.Out.Batch = 2, Matrices{p.Out.Ptr, -1, 0, 1}, 100 }},
	} {
		p := b.dense(8, 8, 8)
		c.spoil(&p)
		err := b.l.Run(0, p, 0)
		require.ErrorIs(t, err, ErrNotSupported)
		require.EqualError(t, err, "cublaslt: "+string(c.reason))
		_, err = b.l.Workspace(p)
		require.Equal(t, c.reason, err)
	}
	for _, sizes := range [][4]int64{{0, 8, 8, 1}, {8, 8, 0, 1}, {8, 8, 8, 0}} {
		p := b.dense(8, 8, 8)
		p.M, p.N, p.K, p.Batch = sizes[0], sizes[1], sizes[2], sizes[3]
		require.Equal(t, badSizes, b.l.Run(0, p, 0))
	}
	p := b.dense(8, 8, 8)
	p.Batch = 2
	require.Equal(t, badOut, b.l.Run(0, p, 0), "the output repeats")
	require.Zero(t, *asked)

	for i, k := range []int64{666, 667, 668} {
		p := b.dense(4, 4, k)
		for range 3 {
			err := b.l.Run(0, p, b.work)
			require.ErrorIs(t, err, ErrNotSupported)
			require.EqualError(t, err, "cublaslt: cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED (15)")
		}
		require.EqualValues(t, i+1, *asked)
	}
	require.Zero(t, b.live("product"))
}

// TestCallsFail: each call that fails is named, and leaves nothing behind.
func TestCallsFail(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 4)
	p.Batch, p.Out.Batch = 2, 16
	p.Out.Ptr = b.alloc(make([]byte, 4*32))
	for _, op := range []string{
		"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
		"cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
	} {
		t.Setenv("FAKE_LT_FAIL", op+":14")
		err := b.l.Run(0, p, 0)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.EqualError(t, err, "cublaslt: "+op+": CUBLAS_STATUS_INTERNAL_ERROR (14)")
		require.NotErrorIs(t, err, ErrNotSupported)
		if op != "cublasLtMatmul" {
			require.Zero(t, b.live("product")+b.live("layout")+b.live("preference"), op)
		}
	}
	t.Setenv("FAKE_LT_FAIL", "cublasLtMatmul:99")
	require.EqualError(t, b.l.Run(0, p, 0), "cublaslt: cublasLtMatmul: unknown status (99)")
	t.Setenv("FAKE_LT_FAIL", "")
	require.NoError(t, b.l.Run(0, p, 0))
}

// TestLost: a device that is lost is known as such, by the run that the library
// says has failed and by those after it.
func TestLost(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 4)
	require.NoError(t, b.l.Run(0, p, 0))
	t.Setenv("FAKE_LT_FAIL", "cublasLtMatmul:13")
	require.EqualError(t, b.l.Run(0, p, 0), "cublaslt: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13)")
	require.NoError(t, b.c.Lost())
	t.Setenv("FAKE_LT_FAIL", "")

	t.Setenv("FAKE_FAIL", "cuStreamQuery:1:700") // the first that looks is the library
	for range 2 {
		require.ErrorIs(t, b.l.Run(0, p, 0), cuda.ErrDeviceLost)
	}
	require.ErrorIs(t, b.l.Close(), cuda.ErrDeviceLost)
	require.NoError(t, b.l.Close())
	require.Zero(t, b.live("product"))
}

// TestBlocking: with TARN_LAUNCH_BLOCKING=1 a run finds its fault.
func TestBlocking(t *testing.T) {
	t.Setenv("TARN_LAUNCH_BLOCKING", "1")
	b := newLab(t)
	p := b.dense(4, 4, 4)
	require.NoError(t, b.l.Run(0, p, 0))
	t.Setenv("FAKE_FAIL", "cuStreamSynchronize:1:700")
	require.ErrorIs(t, b.l.Run(0, p, 0), cuda.ErrDeviceLost)
}

func TestNoContext(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 4)
	t.Setenv("FAKE_FAIL", "cuCtxSetCurrent:1:201")
	require.EqualError(t, b.l.Run(0, p, 0), "cuda: cuCtxSetCurrent: CUDA_ERROR_INVALID_CONTEXT (201): the current context is not valid")
	require.NoError(t, b.l.Run(0, p, 0))
}

// TestThreads: many goroutines share a plan whose bias is not the same.
func TestThreads(t *testing.T) {
	b := newLab(t)
	const n = 16
	one := make([]byte, 4*n)
	for i := range n {
		Float32.encode(one[4*i:], 1)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		p := b.dense(1, n, 1)
		bias := make([]byte, 4*n)
		for j := range n {
			Float32.encode(bias[4*j:], float64(i))
		}
		p.Bias = Matrices{b.alloc(bias), 0, 0, 1}
		s, err := b.c.NewStream(0)
		require.NoError(t, err)
		wait.Go(func() {
			for range 50 {
				if err := b.l.Run(s, p, 0); err != nil {
					t.Error(err)
				}
			}
			got := make([]byte, 4*n)
			if err := b.c.Download(s, got, p.Out.Ptr); err != nil || Float32.decode(got[4*n-4:]) != float64(i) {
				t.Errorf("got %v, want %d: %v", Float32.decode(got[4*n-4:]), i, err)
			}
			if err := b.c.DestroyStream(s); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, b.counter("fake_lt_heuristics")[0])
}

func TestForgets(t *testing.T) {
	b := newLab(t)
	p := b.dense(8, 8, 8)
	for k := range int64(maxPlans) {
		b.l.plans[shape{k: -k}] = &plan{err: badSizes}
	}
	require.NoError(t, b.l.Run(0, p, 0))
	require.Len(t, b.l.plans, 1)
}

// TestRunAllocatesNothing, once the library was asked.
func TestRunAllocatesNothing(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 4)
	p.Bias = Matrices{b.alloc(make([]byte, 16)), 0, 0, 1}
	strided := p
	strided.X.Row, strided.X.Col = 8, 2
	require.NoError(t, b.l.Run(0, p, 0))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = b.l.Workspace(p)
		_ = b.l.Run(0, p, 0)
		_ = b.l.Run(0, strided, 0) // refused
	}))
}

func TestClosed(t *testing.T) {
	b := newLab(t)
	p := b.dense(4, 4, 4)
	require.NoError(t, b.l.Run(0, p, 0))
	require.NoError(t, b.l.Close())
	require.ErrorIs(t, b.l.Run(0, p, 0), cuda.ErrClosed)
	_, err := b.l.Workspace(p)
	require.ErrorIs(t, err, cuda.ErrClosed)
	require.NoError(t, b.l.Close())
}

// TestOpenFails: each library that was tried is named, with the reason.
func TestOpenFails(t *testing.T) {
	c := fakeDevice(t)
	missing := filepath.Join(t.TempDir(), "libcublasLt.so.13")
	text := filepath.Join(t.TempDir(), "libcublasLt.so.12")
	require.NoError(t, os.WriteFile(text, []byte("this is no library\n"), 0o644))
	old := buildFake(t, "cublasLtMatmulAlgoGetHeuristic=absent")
	_, err := open(c, []string{missing, text, old})
	var e *OpenError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{missing, text, old}, e.Names)
	require.ErrorContains(t, err, "cublaslt: no library can be used: "+missing+": cannot open shared object file")
	require.ErrorContains(t, err, "; "+text+": ")
	require.ErrorContains(t, err, "; "+old+": it has no cublasLtMatmulAlgoGetHeuristic: ")
	require.NotErrorIs(t, err, cuda.ErrNoLoader)

	good := buildFake(t)
	t.Setenv("FAKE_LT_FAIL", "cublasLtCreate:1")
	_, err = open(c, []string{good})
	require.EqualError(t, err, "cublaslt: no library can be used: "+good+": cublaslt: cublasLtCreate: CUBLAS_STATUS_NOT_INITIALIZED (1)")
	t.Setenv("FAKE_LT_FAIL", "")
	l, err := open(c, []string{missing, text, good})
	require.NoError(t, err)
	require.Equal(t, good, l.Name())
	require.NoError(t, l.Close())
}
