package tensor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/internal/fmapeak"
	"tarn/kernels"
	"tarn/kernels/cpu"
	"tarn/tensor"
)

// beyondCaches is memory that no cache holds, in bytes.
const beyondCaches = 256 << 20

// BenchmarkOp is one op at a time on one thread, in a scope and recorded, forward
// alone and with backward. With 10,000 elements and more it says too what share
// it reaches of what the core can do, measured beside it: of the FMA peak
// (%peak), or of the bandwidth of copies, counting each operand and each result
// once: of copies in as much memory as these have (%copy), and of some that no
// cache holds (%memory). More than 100 means that reading is cheaper than
// writing, or that what the copies are beyond was in a cache.
func BenchmarkOp(b *testing.B) {
	tensor.SetThreads(1)
	defer tensor.SetThreads(0)
	for _, c := range opCases() {
		for _, n := range []int{64, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) { benchmarkForward(b, c, n) })
			if c.grad {
				b.Run(fmt.Sprintf("%s/%d/backward", c.name, n), func(b *testing.B) { benchmarkBackward(b, c, n) })
			}
		}
	}
}

func benchmarkForward(b *testing.B, c opCase, n int) {
	in := c.make(newCPU(b), n)
	if c.grad {
		in[0].RequireGrad()
	}
	s := newOpScope(b, in)
	defer s.close()
	once := func() { s.release(c.run(s.next())) }
	once() // which touches memory for the first time
	if n == 64 {
		b.ReportAllocs()
		for b.Loop() {
			once()
		}
		return
	}
	if c.flops != nil {
		meter := fmapeak.NewMeter(c.flops(in), b.StopTimer, b.StartTimer)
		for b.Loop() {
			meter.Time(once)
		}
		report(b, meter, "%peak", "GFLOP/s")
		return
	}
	out := c.run(s.next())
	moved := float64(out.Len()) * (float64(out.DType().Size()) + c.beside)
	for _, t := range in {
		moved += float64(t.Len()) * float64(t.DType().Size())
	}
	s.release(out)
	near := fmapeak.NewCopyMeter(moved, moved, b.StopTimer, b.StartTimer)
	far := fmapeak.NewCopyMeter(moved, beyondCaches, b.StopTimer, b.StartTimer)
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			near.Time(once)
		} else {
			far.Time(once)
		}
	}
	report(b, near, "%copy", "GB/s")
	report(b, far, "%memory", "")
}

// report gives what share of the peak m found, and the rate if it has a unit.
func report(b *testing.B, m *fmapeak.Meter, share, unit string) {
	ratio, rate, peak := m.Result()
	if peak == 0 {
		return // built without C, or too few calls
	}
	b.ReportMetric(100/ratio, share)
	if unit != "" {
		b.ReportMetric(rate/1e9, unit)
	}
}

func benchmarkBackward(b *testing.B, c opCase, n int) {
	in := c.make(newCPU(b), n)
	in[0].RequireGrad()
	s := newOpScope(b, in)
	defer s.close()
	out := c.run(s.next())
	up := tensor.Ones(in[0].Device(), out.DType(), out.Shape()...)
	s.release(out)
	b.ReportAllocs()
	for b.Loop() {
		y := c.run(s.next())
		if err := y.BackwardWith(up); err != nil {
			b.Fatal(err)
		}
		s.release(y)
		if err := in[0].ZeroGrad(); err != nil {
			b.Fatal(err)
		}
	}
}

// opScope has the operands in a scope, a new one after every scopeOps ops.
type opScope struct {
	b     *testing.B
	owned []*tensor.Tensor
	in    []*tensor.Tensor
	scope *tensor.Scope
	ops   int
}

func newOpScope(b *testing.B, owned []*tensor.Tensor) *opScope {
	for _, t := range owned {
		require.NoError(b, t.Err())
	}
	return &opScope{b: b, owned: owned, in: make([]*tensor.Tensor, len(owned))}
}

// next returns the operands for one more op.
func (s *opScope) next() []*tensor.Tensor {
	if s.ops%scopeOps == 0 {
		s.close()
		s.scope = tensor.NewScope()
		for i, t := range s.owned {
			s.in[i] = t.In(s.scope)
		}
	}
	s.ops++
	return s.in
}

func (s *opScope) release(t *tensor.Tensor) {
	if t.Err() != nil || t.Release() != nil {
		s.b.Fatal(t.Err())
	}
}

func (s *opScope) close() {
	if s.scope != nil {
		require.NoError(s.b, s.scope.Close())
	}
}

// BenchmarkOpOverhead is a recorded op on 64 elements, in turns with the call of
// its kernel alone on Args made beforehand. xkernel is the time of the former
// over that of the latter.
func BenchmarkOpOverhead(b *testing.B) {
	tensor.SetThreads(1)
	defer tensor.SetThreads(0)
	for _, c := range tinyOps() {
		b.Run(c.name, func(b *testing.B) {
			d := newCPU(b)
			in := c.make(d)
			out := c.run(in)
			a := &kernels.Args{Out: []kernels.View{denseView(out)}, Attr: c.attr}
			for _, t := range in {
				a.In = append(a.In, denseView(t))
			}
			kernel := cpu.Table()[c.id]
			if kernel.Workspace != nil {
				if size := kernel.Workspace(a); size > 0 {
					a.Work = denseView(tensor.Zeros(d, tensor.Float32, int(size/4)))
				}
			}
			in[len(in)-1].RequireGrad()
			s := newOpScope(b, in)
			defer s.close()
			var ops, calls time.Duration
			for b.Loop() {
				start := time.Now()
				for range scopeOps {
					s.release(c.run(s.next()))
				}
				between := time.Now()
				for range scopeOps {
					if err := kernel.Run(cpu.Queue(), a); err != nil {
						b.Fatal(err)
					}
				}
				ops, calls = ops+between.Sub(start), calls+time.Since(between)
			}
			per := float64(b.N * scopeOps)
			b.ReportMetric(float64(ops)/per, "ns/op")
			b.ReportMetric(float64(calls)/per, "ns/kernel")
			b.ReportMetric(float64(ops)/float64(calls), "xkernel")
		})
	}
}

// denseView returns the view of a dense tensor, as a kernel sees it.
func denseView(t *tensor.Tensor) kernels.View {
	v := kernels.View{Ptr: tensor.Pointer(t), DType: t.DType(), Rank: int8(t.Rank())}
	step := int64(1)
	for d := t.Rank() - 1; d >= 0; d-- {
		v.Dims[d], v.Strides[d] = int64(t.Dim(d)), step
		step *= v.Dims[d]
	}
	return v
}
