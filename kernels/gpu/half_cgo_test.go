//go:build cgo && (linux || darwin)

package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/kernels"
)

// TestHalfConversions holds the kernels to F16 and BF16 of package kernels, for
// every half and for floats that lie between two, next to that and anywhere.
func TestHalfConversions(t *testing.T) {
	k := simulated(t)
	testHalf(t, k, kernels.Float16, kernels.ToF16, kernels.F16.Float32)
	testHalf(t, k, kernels.BFloat16, kernels.ToBF16, kernels.BF16.Float32)
}

func testHalf[H ~uint16](t *testing.T, k *Kernels, d kernels.DType, to func(float32) H, from func(H) float32) {
	halves := make([]H, 1<<16)
	for i := range halves {
		halves[i] = H(i)
	}
	n := int64(len(halves))
	x, y := k.dense(t, d, bytesOf(halves), n), k.vector(t, make([]float32, n))
	require.NoError(t, k.do(kernels.Copy, 0, []kernels.View{y}, x))
	for i, got := range k.values(t, y) {
		if want := from(H(i)); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
			t.Fatalf("%v %#x becomes %v, want %v", d, i, got, want)
		}
	}

	r := rand.New(rand.NewPCG(1, uint64(d)))
	var floats []float32
	for i := range 1 << 16 {
		up := uint32(1) << 15 // half of the last bit of a bfloat16
		if d == kernels.Float16 {
			up = 1 << 12
		}
		middle := math.Float32bits(from(H(i))) + up
		for _, bits := range []uint32{middle - 1, middle, middle + 1, r.Uint32()} {
			floats = append(floats, math.Float32frombits(bits))
		}
	}
	for i := range 1 << 12 { // between two subnormal ones
		floats = append(floats, float32(i)*0x1p-26)
	}
	n = int64(len(floats))
	back := make([]H, n)
	x, y = k.vector(t, floats), k.dense(t, d, bytesOf(back), n)
	require.NoError(t, k.do(kernels.Copy, 0, []kernels.View{y}, x))
	require.NoError(t, k.context.Download(0, bytesOf(back), cuda.DevicePtr(y.Ptr)))
	for i, got := range back {
		if want := to(floats[i]); got != want && (floats[i] == floats[i] || from(got) == from(got)) {
			t.Fatalf("%v (%#x) becomes %v %#x, want %#x", floats[i], math.Float32bits(floats[i]), d, got, want)
		}
	}
}

// TestFillAnywhere fills pieces that begin and end at any element, with bits that
// the driver's calls can repeat and bits that they cannot.
func TestFillAnywhere(t *testing.T) {
	k := simulated(t)
	const most = 40
	for _, d := range kernels.AnyDType.List() {
		size := d.Size()
		for _, value := range []float64{0, 1, 170} {
			for start := range 16/size + 1 {
				for _, n := range []int64{1, 2, 7, 16, 19} {
					before := make([]byte, most*size)
					for i := range before {
						before[i] = 0xee
					}
					v := k.dense(t, d, before, most)
					v.Ptr, v.Dims[0] = v.Ptr+uintptr(start*size), n
					a := kernels.NewArgs()
					a.Out, a.Attr.Alpha = append(a.Out, v), value
					require.NoError(t, k.table[kernels.Fill].Run(k.Queue(0), a))
					a.Put()
					after := make([]byte, most*size)
					require.NoError(t, k.context.Download(0, after, cuda.DevicePtr(v.Ptr-uintptr(start*size))))
					pattern := fillBits(d, value)
					for i := start * size; i < (start+n)*size; i++ {
						before[i] = byte(pattern >> (i % size * 8))
					}
					require.Equal(t, before, after, "%v %v: %d elements from %d on", d, value, n, start)
				}
			}
		}
	}
}

// seen keeps a copy of the call that the op's kernels would get.
func seen(f *kernels.Args) *body {
	return &body{
		run: func(_ *Kernels, _ cuda.Stream, a *kernels.Args) error {
			f.Out, f.In = append(f.Out[:0], a.Out...), append(f.In[:0], a.In...)
			f.Work, f.Attr = a.Work, a.Attr
			return nil
		},
		workspace: func(*Kernels, *kernels.Args) int64 { return 1000 },
	}
}

// run runs op with the workspace that it asks for, at an address that is a
// multiple of 16 and no more, and returns where that begins and ends.
func (k *Kernels) run(t *testing.T, op *kernels.Op, a *kernels.Args) (from, to uintptr) {
	size := op.Workspace(a)
	from = uintptr(k.alloc(t, size+256))
	from += 256 - from%256 + 16
	to = from + uintptr(size)
	a.Work.Ptr = from
	require.NoError(t, op.Run(k.Queue(0), a))
	return from, to
}

// TestFloatCopies: what the kernels of an op get in place of halves.
func TestFloatCopies(t *testing.T) {
	k := simulated(t)
	half := func(rows, cols int64) kernels.View {
		return k.dense(t, kernels.Float16, make([]byte, 2*rows*cols), rows, cols)
	}
	x, y, bias := half(30, 50), half(30, 50), half(1, 50)
	bias = expand(&bias, &x)
	for name, c := range map[string]struct {
		out   kernels.View
		in    []kernels.View
		bytes int64 // of the copies
		same  [2]bool
	}{
		"apart":    {y, []kernels.View{x, bias}, 2*6144 + 256, [2]bool{}},
		"in place": {x, []kernels.View{x, bias}, 6144 + 256, [2]bool{true, false}},
		"squared":  {y, []kernels.View{x, x}, 2 * 6144, [2]bool{}},
		"all one":  {x, []kernels.View{x, x}, 6144, [2]bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var f kernels.Args
			op := k.makeOp(kernels.Mul, seen(&f))
			a := kernels.NewArgs()
			defer a.Put()
			a.Out, a.In = append(a.Out, c.out), append(a.In, c.in...)
			require.Equal(t, c.bytes+1000+240, op.Workspace(a))
			require.Error(t, op.Run(k.Queue(0), a), "no workspace")
			from, to := k.run(t, op, a)
			require.Len(t, f.In, 2)
			for i, v := range append(f.Out, f.In...) {
				require.Equal(t, kernels.Float32, v.DType)
				require.Zero(t, v.Ptr%256)
				require.True(t, from <= v.Ptr && v.Ptr < to)
				require.True(t, v.SameDims(&x))
				if i == 2 && c.in[1].Strides[0] == 0 {
					require.Zero(t, v.Strides[0])
				}
			}
			for i := range f.In {
				require.Equal(t, c.same[i], f.In[i].Ptr == f.Out[0].Ptr)
			}
			require.Equal(t, c.in[0].SameElements(&c.in[1]), f.In[0].Ptr == f.In[1].Ptr)
			require.Zero(t, f.Work.Ptr%16)
			require.LessOrEqual(t, f.Work.Ptr+1000, to)
			require.Greater(t, f.Work.Ptr, max(f.Out[0].Ptr, f.In[0].Ptr, f.In[1].Ptr))
		})
	}
}

// TestUpdatesInFloats: an op that leaves of its outputs what it does not write,
// and one that adds to them, find there what was there.
func TestUpdatesInFloats(t *testing.T) {
	k := simulated(t)
	want := []kernels.BF16{0x3f80, 0xc000, 0, 0x7f80, 0x0001}
	for _, updates := range []bool{true, false} {
		var f kernels.Args
		b := seen(&f)
		b.updates = updates
		x := k.dense(t, kernels.BFloat16, bytesOf(want), int64(len(want)))
		in := k.dense(t, kernels.BFloat16, make([]byte, 2*len(want)), int64(len(want)))
		a := kernels.NewArgs()
		a.Out, a.In = append(a.Out, x), append(a.In, in)
		a.Attr.Accumulate = !updates
		k.run(t, k.makeOp(kernels.Sum, b), a)
		a.Put()
		got := make([]kernels.BF16, len(want))
		require.NoError(t, k.context.Download(0, bytesOf(got), cuda.DevicePtr(x.Ptr)))
		require.Equal(t, want, got)
	}
}
