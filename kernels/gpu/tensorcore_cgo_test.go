//go:build cgo && (linux || darwin)

package gpu

import (
	endian "encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
)

// decode returns the value of an element.
func (t TensorType) decode(b []byte) float64 {
	switch t {
	case BF16:
		return float64(math.Float32frombits(uint32(endian.LittleEndian.Uint16(b)) << 16))
	case F16:
		h := endian.LittleEndian.Uint16(b)
		exponent, digits := int(h>>10&31), float64(h&1023)
		v := math.Ldexp(1+digits/1024, exponent-15)
		switch exponent {
		case 0:
			v = math.Ldexp(digits, -24)
		case 31:
			v = math.Inf(1)
		}
		if h>>15 == 1 {
			v = -v
		}
		return v
	}
	return float64(math.Float32frombits(endian.LittleEndian.Uint32(b)))
}

// significant is how many bits an element has.
func (t TensorType) significant() int { return [...]int{8, 11, 11}[t] }

// encode writes an element of that value, which it must have exactly but for
// tf32, which lies as float32.
func (t TensorType) encode(b []byte, v float64) {
	switch t {
	case BF16:
		endian.LittleEndian.PutUint16(b, uint16(math.Float32bits(float32(v))>>16))
	case F16:
		fraction, exponent := math.Frexp(math.Abs(v))
		h := uint16(0)
		if v != 0 {
			h = uint16(exponent+14)<<10 | uint16(fraction*2048)&1023
		}
		if v < 0 {
			h |= 1 << 15
		}
		endian.LittleEndian.PutUint16(b, h)
	default:
		endian.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
	}
}

// random returns a value of t, not too small for an f16 that is not subnormal.
func (t TensorType) random(r *rand.Rand) float64 {
	limit := 1 << (t.significant() - 1)
	return float64(r.IntN(2*limit)-limit) / float64(limit)
}

// strides of a batch of matrices of rows by cols.
type strides struct {
	name            string
	skip            int64 // elements before the first
	batch, row, col int64
}

func tensorLies(rows, cols int64) []strides {
	round := func(n int64) int64 { return (n + 7) &^ 7 }
	return []strides{
		{"rows", 0, rows * round(cols), round(cols), 1},
		{"columns", 0, cols * round(rows), 1, round(rows)},
		{"odd rows", 1, rows*cols + 3, cols, 1},
		{"gaps", 0, 2 * rows * cols, 2, 2 * rows},
	}
}

// operand makes batch random matrices and returns their values in order.
func (l *matmulLab) operand(t TensorType, batch, rows, cols int64, s strides) (Matrices, []float64) {
	size := t.Size()
	b := make([]byte, (s.skip+1+max(batch-1, 0)*s.batch+max(rows-1, 0)*s.row+max(cols-1, 0)*s.col)*size)
	values := make([]float64, 0, batch*rows*cols)
	for i := range batch {
		for r := range rows {
			for c := range cols {
				v := t.random(l.rand)
				t.encode(b[(s.skip+i*s.batch+r*s.row+c*s.col)*size:], v)
				values = append(values, v)
			}
		}
	}
	return Matrices{l.alloc(b) + cuda.DevicePtr(s.skip*size), s.batch, s.row, s.col}, values
}

// checkTensor runs a product and compares it with a sum in float64.
func (l *matmulLab) checkTensor(p TensorProduct, x, y, out strides, withBias bool) {
	l.Helper()
	var xs, ys, bias []float64
	p.X, xs = l.operand(p.Type, p.Batch, p.M, p.K, x)
	p.Y, ys = l.operand(p.Type, p.Batch, p.K, p.N, y)
	if withBias {
		p.Bias, bias = l.operand(TF32, 1, 1, p.N, strides{"", 0, 0, 0, 1})
		p.Bias.Row = 0
	}
	outType := TF32
	if p.HalfOut {
		outType = p.Type
	}
	p.Out, _ = l.operand(outType, p.Batch, p.M, p.N, out)
	require.NoError(l, l.k.MatMulTensor(l.k.Queue(0), &p))

	size := outType.Size()
	got := make([]byte, (1+(p.Batch-1)*out.batch+(p.M-1)*out.row+(p.N-1)*out.col)*size)
	require.NoError(l, l.k.context.Download(0, got, p.Out.Ptr))
	eps := 1e-5 * math.Sqrt(float64(p.K+1))
	if p.HalfOut {
		eps = math.Ldexp(1, -p.Type.significant())
	}
	for i := range p.Batch {
		for r := range p.M {
			for c := range p.N {
				want := 0.0
				for k := range p.K {
					want += xs[(i*p.M+r)*p.K+k] * ys[(i*p.K+k)*p.N+c]
				}
				if withBias {
					want += bias[c]
				}
				if p.Activation == kernels.Rectify {
					want = max(want, 0)
				}
				v := outType.decode(got[(i*out.batch+r*out.row+c*out.col)*size:])
				if !(math.Abs(v-want) <= eps*max(math.Abs(want), 1)) {
					require.Fail(l, "element differs", "%v, %d by %d over %d, x in %s, y in %s, out in %s: product %d row %d column %d is %v, want %v",
						p.Type, p.M, p.N, p.K, x.name, y.name, out.name, i, r, c, v, want)
				}
			}
		}
	}
}

func TestMatMulTensor(t *testing.T) {
	for _, typ := range []TensorType{BF16, F16, TF32} {
		t.Run(typ.String(), func(t *testing.T) {
			l := newMatMulLab(t, kernels.Float32)
			const m, n, k = 137, 70, 75
			for i, x := range tensorLies(m, k) {
				for j, y := range tensorLies(k, n) {
					if leftOut(i*4 + j) {
						continue
					}
					p := TensorProduct{Type: typ, M: m, N: n, K: k, Batch: 1, HalfOut: typ != TF32 && (i+j)%2 == 0}
					if j%2 == 0 {
						p.Activation = kernels.Rectify
					}
					l.checkTensor(p, x, y, tensorLies(m, n)[(i+j)%4], i%2 == 0)
				}
			}
		})
	}
}

// Sizes at which something begins or ends, and batches.
func TestMatMulTensorSizes(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	for i, c := range [][4]int64{
		{1, 1, 1, 1}, {1, 1, 0, 1}, {3, 130, 16, 2}, {130, 5, 33, 3}, {64, 64, 64, 1}, {16, 8, 128, 2}, {129, 257, 8, 1}, {17, 9, 300, 1},
		{1290, 130, 16, 1},
	} {
		for t, typ := range []TensorType{BF16, F16, TF32} {
			if leftOut(i*3 + t) {
				continue
			}
			p := TensorProduct{Type: typ, M: c[0], N: c[1], K: c[2], Batch: c[3], HalfOut: typ == BF16}
			l.checkTensor(p, tensorLies(p.M, p.K)[i%2], tensorLies(p.K, p.N)[i/2%2], tensorLies(p.M, p.N)[i%3], true)
		}
	}
}

// What is beyond the edges of operands reaches no element, and what is no
// number reaches those that it should.
func TestMatMulTensorUnruly(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	const m, n, k = 5, 3, 21
	for _, typ := range []TensorType{BF16, F16, TF32} {
		size := typ.Size()
		x, y := make([]byte, m*24*size), make([]byte, n*24*size) // lie along K, NaN in the gaps
		for i := range x {
			x[i] = 0xff
		}
		copy(y, x)
		for i := range int64(max(m, n)) {
			for j := range int64(k) {
				if i < m {
					typ.encode(x[(i*24+j)*size:], 1)
				}
				if i < n {
					typ.encode(y[(i*24+j)*size:], 1)
				}
			}
		}
		copy(x[(2*24+20)*size:][:size], x[21*size:]) // a NaN at the end of row 2
		p := TensorProduct{Type: typ, M: m, N: n, K: k, Batch: 1, Activation: kernels.Rectify,
			X: Matrices{Ptr: l.alloc(x), Row: 24, Col: 1}, Y: Matrices{Ptr: l.alloc(y), Row: 1, Col: 24},
			Out: Matrices{Ptr: l.alloc(make([]byte, 4*m*n)), Row: n, Col: 1}}
		require.NoError(t, l.k.MatMulTensor(l.k.Queue(0), &p))
		got := make([]byte, 4*m*n)
		require.NoError(t, l.k.context.Download(0, got, p.Out.Ptr))
		for i := range m * n {
			v := TF32.decode(got[4*i:])
			if i/n == 2 {
				require.True(t, math.IsNaN(v), "%v, element %d is %v", typ, i, v)
			} else {
				require.Equal(t, float64(k), v, "%v, element %d", typ, i)
			}
		}
	}
}

// tf32 is rounded to nearest, not cut: otherwise long sums drift.
func TestMatMulTensorRounds(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	b := make([]byte, 4*64)
	for i := range 64 {
		TF32.encode(b[4*i:], 1+0x1.8p-11) // between 1 + 2^-11 + 2^-12 and 1 + 2^-10
	}
	p := TensorProduct{Type: TF32, M: 1, N: 1, K: 64, Batch: 1,
		X: Matrices{Ptr: l.alloc(b), Row: 64, Col: 1}, Y: Matrices{Ptr: l.alloc(b), Row: 1, Col: 1}}
	p.Out = Matrices{Ptr: l.alloc(make([]byte, 4)), Row: 1, Col: 1}
	require.NoError(t, l.k.MatMulTensor(l.k.Queue(0), &p))
	got := make([]byte, 4)
	require.NoError(t, l.k.context.Download(0, got, p.Out.Ptr))
	require.InDelta(t, 64*(1+0x1p-10)*(1+0x1p-10), TF32.decode(got), 1e-3)
}

func TestMatMulTensorRefuses(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	p := l.alloc(make([]byte, 4096))
	square := Matrices{p, 64, 8, 1}
	good := TensorProduct{Type: BF16, M: 8, N: 8, K: 8, Batch: 1, X: square, Y: square, Out: square}
	good.Out.Ptr += 2048
	require.NoError(t, l.k.MatMulTensor(l.k.Queue(0), &good))
	for name, c := range map[string]struct {
		err   error
		spoil func(p *TensorProduct)
	}{
		"type":       {kernels.ErrDType, func(p *TensorProduct) { p.Type = 3 }},
		"half tf32":  {kernels.ErrDType, func(p *TensorProduct) { p.Type, p.HalfOut = TF32, true }},
		"dims":       {kernels.ErrDims, func(p *TensorProduct) { p.M = -1 }},
		"activation": {kernels.ErrAttr, func(p *TensorProduct) { p.Activation = 7 }},
		"out":        {kernels.ErrOverlap, func(p *TensorProduct) { p.Out.Row = 0 }},
		"no x":       {kernels.ErrAddress, func(p *TensorProduct) { p.X.Ptr = 0 }},
		"odd y":      {kernels.ErrAddress, func(p *TensorProduct) { p.Y.Ptr++ }},
		"odd bias":   {kernels.ErrAddress, func(p *TensorProduct) { p.Bias.Ptr = 2 }},
	} {
		bad := good
		c.spoil(&bad)
		require.ErrorIs(t, l.k.MatMulTensor(l.k.Queue(0), &bad), c.err, name)
	}
	for _, empty := range []TensorProduct{{M: 8, K: 8, Batch: 1}, {M: 8, N: 8, K: 8}} {
		require.NoError(t, l.k.MatMulTensor(l.k.Queue(0), &empty))
	}
}

// A device of compute capability 7.5 says what it lacks.
func TestMatMulTensorNeedsThem(t *testing.T) {
	machine, err := cudasim.Open(cudasim.Config{Major: 7, Minor: 5})
	require.NoError(t, err)
	device, err := machine.Library().Device(0)
	require.NoError(t, err)
	context, err := device.Open()
	require.NoError(t, err)
	k := New(context)
	require.False(t, k.HasTensorCores())
	err = k.MatMulTensor(k.Queue(0), &TensorProduct{Type: BF16})
	require.ErrorIs(t, err, kernels.ErrNoOp)
	require.EqualError(t, err, fmt.Sprintf("kernels: matmul: %v: tensor cores need compute capability 8.0, cuda:0 has 7.5", kernels.ErrNoOp))
	require.NoError(t, k.Close())
	require.NoError(t, context.Close())
	require.NoError(t, machine.Close())
}
