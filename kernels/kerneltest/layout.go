package kerneltest

import (
	"math"
	"math/rand/v2"

	"tarn/kernels"
)

// layout says how an operand lies in memory.
type layout struct {
	name     string
	order    func(r *rand.Rand, rank int) []int // dims from the outermost to the innermost; nil: as they are
	step     int64                              // of the innermost dim; 0 means 1
	pad      int64                              // unused indices at the end of every dim
	reversed bool                               // the last dim runs backwards
	expanded bool                               // every second dim, the last included, has stride 0
	start    int64                              // elements before the first
}

var (
	dense    = layout{name: "dense"}
	expanded = layout{name: "expanded", expanded: true}

	// writable are the layouts that an output may have.
	writable = []layout{
		dense,
		{name: "offset", start: 3},
		{name: "transposed", order: backwards},
		{name: "sliced", pad: 3, start: 5},
		{name: "stepped", step: 2, pad: 1, start: 1},
		{name: "reversed", reversed: true},
		{name: "permuted", order: shuffled, pad: 1, start: 2},
	}
	readable = append(writable[:len(writable):len(writable)], expanded)
)

func backwards(_ *rand.Rand, rank int) []int {
	o := make([]int, rank)
	for i := range o {
		o[i] = rank - 1 - i
	}
	return o
}

func shuffled(r *rand.Rand, rank int) []int { return r.Perm(rank) }

// place returns an operand of the given type, dims and layout, in a memory of
// its own that holds nothing but poison.
func place(r *rand.Rand, d kernels.DType, dims []int64, l layout) operand {
	v := kernels.View{DType: d, Rank: int8(len(dims))}
	order := make([]int, len(dims))
	for i := range order {
		order[i] = i
	}
	if l.order != nil {
		order = l.order(r, len(dims))
	}
	span := max(l.step, 1)
	first, last := l.start, l.start
	for i := len(order) - 1; i >= 0; i-- {
		dim := order[i]
		n := dims[dim]
		v.Dims[dim], v.Strides[dim] = n, span
		switch {
		case l.expanded && (len(order)-1-i)%2 == 0:
			v.Strides[dim] = 0
			continue
		case n == 1:
			v.Strides[dim] = 1<<40 + 7 // must never be used
			continue
		case n == 0:
			continue
		}
		last += (n - 1) * span
		if l.reversed && i == len(order)-1 {
			v.Strides[dim] = -span
			first += (n - 1) * span
		}
		span *= n + l.pad
	}
	size := d.Size()
	v.Ptr = uintptr(redZone + first*size)
	return operand{newMemory(2*redZone + (last+1)*size), v}
}

// generator makes the bits of element i of an operand of type d.
type generator func(d kernels.DType, i int) uint64

// uniform makes numbers between -2 and 2, for signed integers between -1000 and
// 1000, for uint8 up to 200.
func uniform(r *rand.Rand) generator { return between(r, -2, 2) }

func between(r *rand.Rand, lo, hi float64) generator {
	return func(d kernels.DType, _ int) uint64 {
		x := lo + (hi-lo)*r.Float64()
		switch {
		case d == kernels.Bool:
			x = float64(r.IntN(2))
		case d == kernels.Uint8:
			x = math.Abs(math.Trunc(100 * x))
		case d.IsInt():
			x = math.Trunc(500 * x)
		}
		return toBits(d, x)
	}
}

// below makes int64 indices from 0 to n-1.
func below(r *rand.Rand, n int64) generator {
	return func(kernels.DType, int) uint64 { return uint64(r.Int64N(n)) }
}

// extremes are numbers at which elementwise code goes wrong, per dtype: zeros,
// infinities, NaN, denormals, the ends of the range and where exp over- and
// underflows.
var extremes = map[kernels.DType][]float64{
	kernels.Float32: {
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(),
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1e-40, -3e-39, 0x1p-126,
		math.MaxFloat32, -math.MaxFloat32, 88.72283, 88.8, -87.4, -95, -103.9, -104.1, 1e30, -1e-30,
		1 + 0x1p-23, 1 - 0x1p-24,
	},
	kernels.Float16: {
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-24, -0x1p-24, 0x1p-15, 0x1p-14,
		65504, -65504, 11.09, 11.1, -9.7, -17.4, 300, -300, 1e-3, 1 + 0x1p-10, 1 - 0x1p-11,
	},
	kernels.BFloat16: {
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-133, -0x1p-133, 1e-39, 0x1p-126,
		0x1.fep127, -0x1.fep127, 88.5, 89, -87.5, -95, 1e30, -1e-30, 1 + 0x1p-7, 1 - 0x1p-8,
	},
	kernels.Float64: {
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(),
		math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1e-310, -3e-309, 0x1p-1022,
		math.MaxFloat64, -math.MaxFloat64, 709.78, 709.8, -708.5, -720, -745.1, -745.2, 1e300, -1e-300,
		1 + 0x1p-52, 1 - 0x1p-53,
	},
}

// wholeExtremes are the bits of integers at which code goes wrong.
var wholeExtremes = map[kernels.DType][]uint64{
	kernels.Int64: {0, 1, math.MaxUint64, math.MaxInt64, 1 << 63, 1<<62 + 1},
	kernels.Int32: {0, 1, math.MaxUint32, math.MaxInt32, 1 << 31, 1<<30 + 1},
	kernels.Uint8: {0, 1, 255, 128, 127, 2},
	kernels.Bool:  {0, 1},
}

// extreme mixes uniform numbers with extremes, for integers with the ends of
// their range.
func extreme(r *rand.Rand) generator {
	plain := uniform(r)
	return func(d kernels.DType, i int) uint64 {
		if r.IntN(2) == 0 {
			return plain(d, i)
		}
		if list := wholeExtremes[d]; list != nil {
			return list[r.IntN(len(list))]
		}
		list := extremes[d]
		return toBits(d, list[r.IntN(len(list))])
	}
}

// unruly mixes uniform numbers with NaN, infinities, zeros and denormals, but
// no number so large that a finite sum overflows on the way.
func unruly(r *rand.Rand) generator {
	plain := uniform(r)
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, -1e-310}
	return func(d kernels.DType, i int) uint64 {
		if !d.IsFloat() || r.IntN(4) != 0 {
			return plain(d, i)
		}
		return toBits(d, list[r.IntN(len(list))])
	}
}

// ties makes few different numbers, so that a maximum is often met twice.
func ties(r *rand.Rand) generator {
	return func(d kernels.DType, _ int) uint64 { return toBits(d, float64(r.IntN(4)-2)) }
}

// near1 makes numbers of both signs whose products neither grow nor shrink
// fast.
func near1(r *rand.Rand) generator {
	return func(d kernels.DType, i int) uint64 {
		if !d.IsFloat() {
			return uniform(r)(d, i)
		}
		x := math.Exp2((r.Float64() - 0.5) / 64)
		if r.IntN(2) == 0 {
			x = -x
		}
		return toBits(d, x)
	}
}
