package gpu

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

func view(d kernels.DType, dims, strides []int64) kernels.View {
	v := kernels.View{Ptr: 0x10000, DType: d, Rank: int8(len(dims))}
	copy(v.Dims[:], dims)
	copy(v.Strides[:], strides)
	return v
}

// TestWalk: what layouts become before a launch.
func TestWalk(t *testing.T) {
	f32 := kernels.Float32
	for name, c := range map[string]struct {
		views   []kernels.View
		dims    []int64
		vectors bool
		splat   uint32
	}{
		"scalar":        {[]kernels.View{view(f32, nil, nil)}, []int64{1}, true, 0},
		"dense":         {[]kernels.View{view(f32, []int64{2, 3, 5}, []int64{15, 5, 1})}, []int64{30}, true, 0},
		"transposed":    {[]kernels.View{view(f32, []int64{3, 5}, []int64{1, 3}), view(f32, []int64{3, 5}, []int64{1, 3})}, []int64{15}, true, 0},
		"one of them":   {[]kernels.View{view(f32, []int64{3, 5}, []int64{5, 1}), view(f32, []int64{3, 5}, []int64{1, 3})}, []int64{5, 3}, false, 0},
		"dims of 1":     {[]kernels.View{view(f32, []int64{1, 4, 1}, []int64{99, 1, 77})}, []int64{4}, true, 0},
		"bias":          {[]kernels.View{view(f32, []int64{6, 8}, []int64{8, 1}), view(f32, []int64{6, 8}, []int64{0, 1})}, []int64{8, 6}, true, 0},
		"column":        {[]kernels.View{view(f32, []int64{6, 8}, []int64{8, 1}), view(f32, []int64{6, 8}, []int64{1, 0})}, []int64{8, 6}, true, 2},
		"constant":      {[]kernels.View{view(f32, []int64{6, 7}, []int64{7, 1}), view(f32, []int64{6, 7}, []int64{0, 0})}, []int64{42}, true, 2},
		"odd rows":      {[]kernels.View{view(f32, []int64{6, 7}, []int64{7, 1}), view(f32, []int64{6, 7}, []int64{0, 1})}, []int64{7, 6}, false, 0},
		"padded rows":   {[]kernels.View{view(f32, []int64{6, 8}, []int64{11, 1})}, []int64{8, 6}, false, 0},
		"stepped":       {[]kernels.View{view(f32, []int64{6}, []int64{2})}, []int64{6}, false, 0},
		"both reversed": {[]kernels.View{view(f32, []int64{5}, []int64{-1}), view(f32, []int64{5}, []int64{-1})}, []int64{5}, true, 0},
	} {
		var list []*kernels.View
		for i := range c.views {
			list = append(list, &c.views[i])
		}
		if name == "both reversed" {
			c.views[0].Ptr, c.views[1].Ptr = 0x10010, 0x20010
		}
		w := walkOver(list...)
		require.Equal(t, c.dims, w.dims[:w.rank], name)
		require.Equal(t, c.views[0].Len(), w.count, name)
		require.Equal(t, c.vectors, w.inVectors(4), name)
		require.Equal(t, c.splat, w.splat(), name)
		if name == "both reversed" {
			require.Equal(t, []uintptr{0x10000, 0x20000}, w.ptrs[:2])
		}
	}
	odd := view(f32, []int64{8}, []int64{1})
	odd.Ptr += 4
	w := walkOver(&odd)
	require.False(t, w.inVectors(4), "not aligned")
}

// TestDivider does what Divider does, for all small numbers, the ends of the
// range and random ones.
func TestDivider(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(n, by uint64, width int) {
		magic, shift := divider(by, width)
		q := uint64(uint32(uint64(uint32(n))*magic>>32)+uint32(n)) >> shift
		if width == 64 {
			hi, _ := bits.Mul64(n, magic)
			q = (hi + n) >> shift
		}
		if q != n/by {
			t.Fatalf("%d/%d is %d in %d bits", n, by, q, width)
		}
	}
	for by := uint64(1); by < 300; by++ {
		for n := range uint64(1000) {
			check(n, by, 32)
			check(n, by, 64)
		}
	}
	for range 100_000 {
		by := r.Uint64()>>1>>r.IntN(63) | 1
		for _, n := range []uint64{r.Uint64() >> 1, by - 1, by, 2*by - 1, 1<<63 - 1} {
			check(n&(1<<63-1), by, 64)
		}
		by = by&(1<<31-1) | 1
		for _, n := range []uint64{r.Uint64() >> 33, by - 1, by, 2*by - 1, 1<<31 - 1} {
			check(n&(1<<31-1), by, 32)
		}
	}
}

// TestHalves: the parts of a walk have its elements, each once and in order, and
// of a dense one both lie in vectors.
func TestHalves(t *testing.T) {
	for name, v := range map[string]kernels.View{
		"dense":   view(kernels.Float16, []int64{1000}, []int64{1}),
		"stepped": view(kernels.Float16, []int64{35}, []int64{3}),
		"rows":    view(kernels.Float16, []int64{5, 12}, []int64{16, 1}),
		"two":     view(kernels.Float16, []int64{2, 3, 7}, []int64{64, 20, 1}),
	} {
		var places func(w walk) []uintptr
		places = func(w walk) (all []uintptr) {
			if w.count > 10 {
				first, rest := w.halves()
				require.Equal(t, w.count, first.count+rest.count, name)
				return append(places(first), places(rest)...)
			}
			return elementsOf(&w)
		}
		w := walkOver(&v)
		require.Equal(t, elementsOf(&w), places(w), name)
		if name == "dense" {
			first, rest := w.halves()
			require.True(t, first.inVectors(8) && rest.inVectors(8))
		}
	}
}

// elementsOf returns where the elements of the first operand lie.
func elementsOf(w *walk) (all []uintptr) {
	for i := range w.count {
		at := w.ptrs[0]
		for d := range w.rank {
			at += uintptr(i % w.dims[d] * w.strides[0][d] * w.sizes[0])
			i /= w.dims[d]
		}
		all = append(all, at)
	}
	return all
}
