package gpu

import (
	"math"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	fillModule = declare("fill", 0)

	fills = bySize[layouts]{
		{index32: fillModule.kernel("fill_b8_index32"), index64: fillModule.kernel("fill_b8_index64")},
		fillModule.layouts("fill_b16"), fillModule.layouts("fill_b32"), fillModule.layouts("fill_b64"),
	}
)

func (k *Kernels) fill(s cuda.Stream, a *kernels.Args) error {
	w := walkOver(&a.Out[0])
	size, pattern := w.sizes[0], fillBits(a.Out[0].DType, a.Attr.Alpha)
	list := fills.of(size)
	if w.dense() {
		p, bytes, repeats := cuda.DevicePtr(w.ptrs[0]), w.count*size, period(pattern, size)
		switch {
		case repeats == 1:
			return k.context.Fill8(s, p, uint8(pattern), bytes)
		case repeats <= 4 && bytes%4 == 0 && p%4 == 0:
			return k.context.Fill32(s, p, uint32(repeated(pattern, repeats)), bytes/4)
		case w.inVectors(16 / size):
			l, err := k.prepare(list.vectors)
			if err != nil {
				return err
			}
			return l.Ptr(p).Int64(w.count).Uint64(pattern).Run(s, k.line(bytes/16))
		}
	}
	wide := k.isWide(w.count)
	l, err := k.prepare(list.index(wide))
	if err != nil {
		return err
	}
	return w.pass(l.Ptr(cuda.DevicePtr(w.ptrs[0])), wide).Uint64(pattern).Run(s, k.line(w.count))
}

// fillBits returns the bits of x as an element of type d, as Copy converts it.
func fillBits(d kernels.DType, x float64) uint64 {
	switch d {
	case kernels.Float32:
		return uint64(math.Float32bits(float32(x)))
	case kernels.Float64:
		return math.Float64bits(x)
	case kernels.Float16:
		return uint64(kernels.ToF16(float32(x)))
	case kernels.BFloat16:
		return uint64(kernels.ToBF16(float32(x)))
	case kernels.Int32:
		return uint64(uint32(int64(x)))
	case kernels.Uint8:
		return uint64(uint8(int64(x)))
	case kernels.Bool:
		return uint64(bit(x != 0))
	}
	return uint64(int64(x))
}

// period returns after how many bytes the bits of an element of size bytes begin
// again: a power of two, and size at most.
func period(pattern uint64, size int64) int64 {
	for ; size > 1; size /= 2 {
		half := 4 * size // in bits
		if pattern>>half != pattern&(1<<half-1) {
			return size
		}
		pattern >>= half
	}
	return 1
}

// repeated returns 8 bytes of a pattern that begins again after period bytes.
func repeated(pattern uint64, period int64) uint64 {
	for ; period < 8; period *= 2 {
		bits := 8 * period
		pattern = pattern&(1<<bits-1) | pattern<<bits
	}
	return pattern
}
