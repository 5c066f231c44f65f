package gpu

import (
	"math"
	"math/bits"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/scalar"
)

// The elementwise ops whose kernels serve many ops and element types, see
// packs.cuh: an op is its place in the list, as in the enum of the .cu file.
var (
	maps = packsOf("map", 1,
		kernels.Affine, kernels.Exp, kernels.Log, kernels.Sqrt, kernels.ReLU, kernels.Neg, kernels.Abs, kernels.Sign,
		kernels.Floor, kernels.Ceil, kernels.Trunc, kernels.Round, kernels.Reciprocal, kernels.Rsqrt, kernels.Expm1,
		kernels.Log1p, kernels.Sin, kernels.Cos, kernels.Tanh, kernels.Sigmoid, kernels.Erf, kernels.SiLU, kernels.GELU,
		kernels.GELUTanh, kernels.LeakyReLU, kernels.ELU, kernels.Softplus, kernels.PowScalar, kernels.Clamp)
	zips = packsOf("zip", 2,
		kernels.Add, kernels.Sub, kernels.Mul, kernels.Div, kernels.ReLUGrad, kernels.TanhGrad, kernels.SigmoidGrad,
		kernels.SiLUGrad, kernels.GELUGrad, kernels.GELUTanhGrad, kernels.LeakyReLUGrad, kernels.ELUGrad,
		kernels.SoftplusGrad, kernels.ClampGrad, kernels.Pow, kernels.Maximum, kernels.Minimum, kernels.FloorDivide,
		kernels.Remainder, kernels.And, kernels.Or, kernels.Xor)
	comparisons = packsOf("compare", 2,
		kernels.Equal, kernels.NotEqual, kernels.Less, kernels.LessEqual, kernels.Greater, kernels.GreaterEqual,
		kernels.Not, kernels.IsNaN, kernels.IsInf)

	whereModule  = declare("where", 0)
	whereKernels = [...]kernel{
		whereModule.kernel("where_u8"), whereModule.kernel("where_u16"),
		whereModule.kernel("where_u32"), whereModule.kernel("where_u64")} // by the logarithm of the size
)

// packs are the kernels of a module of such ops, by the type computed with.
type packs struct {
	inputs        int
	ids           []kernels.ID
	ops           [kernels.NumOps]uint32 // the ops' numbers
	f32, f64, i64 kernel
}

func packsOf(name string, inputs int, ids ...kernels.ID) *packs {
	m := declare(name, 0)
	p := &packs{inputs: inputs, ids: ids, f32: m.kernel(name + "_f32"), f64: m.kernel(name + "_f64"), i64: m.kernel(name + "_i64")}
	for i, id := range ids {
		p.ops[id] = uint32(i)
	}
	return p
}

// of returns the kernel for elements of type d and how many make a pack.
func (p *packs) of(d kernels.DType) (x kernel, width int64) {
	switch {
	case d == kernels.Float64:
		return p.f64, 2
	case d.IsFloat():
		return p.f32, 4
	}
	return p.i64, 4
}

// run returns the run of an op of p. An op of fewer inputs than the kernel gets
// the last one again.
func (p *packs) run(id kernels.ID) func(*Kernels, cuda.Stream, *kernels.Args) error {
	return func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		d := a.In[0].DType
		j := job{op: p.ops[id], dtype: d, scalar: max(d.Size(), 4)}
		j.kernel, j.width = p.of(d)
		if d.IsFloat() {
			j.alpha, j.beta = floatBits(d, a.Attr.Alpha), floatBits(d, a.Attr.Beta)
		} else {
			lo, hi := scalar.WholeBounds(a.Attr.Alpha, a.Attr.Beta)
			j.scalar, j.alpha, j.beta = 8, uint64(lo), uint64(hi)
		}
		if p.inputs == 1 {
			return k.inPacks(s, &j, walkOver(&a.Out[0], &a.In[0]))
		}
		return k.inPacks(s, &j, walkOver(&a.Out[0], &a.In[0], &a.In[len(a.In)-1]))
	}
}

// floatBits returns x in the type that elements of type d are computed with.
func floatBits(d kernels.DType, x float64) uint64 {
	if d == kernels.Float64 {
		return math.Float64bits(x)
	}
	return uint64(math.Float32bits(float32(x)))
}

func (k *Kernels) where(s cuda.Stream, a *kernels.Args) error {
	out := &a.Out[0]
	size := bits.TrailingZeros64(uint64(out.DType.Size()))
	j := job{kernel: whereKernels[size], dtype: out.DType, width: 4, scalar: 8}
	return k.inPacks(s, &j, walkOver(out, &a.In[0], &a.In[1], &a.In[2]))
}

// job is what a kernel is told of its op.
type job struct {
	kernel      kernel
	width       int64 // elements of a pack
	op          uint32
	dtype       kernels.DType
	scalar      int64 // the size of alpha and beta
	alpha, beta uint64
}

// inPacks queues the kernel of j over w, in parts of fewer elements than 31 bits
// count.
func (k *Kernels) inPacks(s cuda.Stream, j *job, w walk) error {
	if k.isWide(w.count) && w.count > partOfTests {
		first, rest := w.halves()
		if err := k.inPacks(s, j, first); err != nil {
			return err
		}
		return k.inPacks(s, j, rest)
	}
	count, splat, vectors := w.count, w.splat(), uint32(0)
	if w.inVectors(j.width) {
		vectors, w = 1, w.vectors(j.width)
	}
	l, err := k.prepare(j.kernel)
	if err != nil {
		return err
	}
	for _, p := range w.ptrs[:w.operands] {
		l.Ptr(cuda.DevicePtr(p))
	}
	w.pass(l.Int64(count), false).Uint32(j.op).Uint32(uint32(j.dtype)).Uint32(vectors).Uint32(splat)
	if j.scalar == 4 {
		l.Uint32(uint32(j.alpha)).Uint32(uint32(j.beta))
	} else {
		l.Uint64(j.alpha).Uint64(j.beta)
	}
	return l.Run(s, k.line((count+j.width-1)/j.width))
}

// partOfTests is how many elements a part has where parts are to be tested.
const partOfTests = 1 << 10
