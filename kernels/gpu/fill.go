package gpu

import (
	"math"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	fillModule = declare("fill", 0)

	fill32 = fillModule.layouts("fill_b32")
	fill64 = fillModule.layouts("fill_b64")
)

func (k *Kernels) fill(s cuda.Stream, a *kernels.Args) error {
	w := walkOver(&a.Out[0])
	pattern, size := fillBits(a.Out[0].DType, a.Attr.Alpha)
	half := uint32(pattern)
	if w.dense() && (size == 4 || pattern>>32 == uint64(half)) {
		return k.context.Fill32(s, cuda.DevicePtr(w.ptrs[0]), half, w.count*size/4)
	}
	list := &fill64
	if size == 4 {
		list = &fill32
	}
	if w.dense() && w.inVectors(16/size) {
		l, err := k.prepare(list.vectors)
		if err != nil {
			return err
		}
		l.Ptr(cuda.DevicePtr(w.ptrs[0])).Int64(w.count)
		passBits(l, pattern, size)
		return l.Run(s, k.line(w.count*size/16))
	}
	wide := k.isWide(w.count)
	l, err := k.prepare(list.index(wide))
	if err != nil {
		return err
	}
	w.pass(l.Ptr(cuda.DevicePtr(w.ptrs[0])), wide)
	passBits(l, pattern, size)
	return l.Run(s, k.line(w.count))
}

// fillBits returns x as an element of type d, and its size in bytes.
func fillBits(d kernels.DType, x float64) (pattern uint64, size int64) {
	switch d {
	case kernels.Float32:
		return uint64(math.Float32bits(float32(x))), 4
	case kernels.Float64:
		return math.Float64bits(x), 8
	}
	return uint64(int64(x)), 8
}

func passBits(l *cuda.Launch, pattern uint64, size int64) {
	if size == 4 {
		l.Uint32(uint32(pattern))
	} else {
		l.Uint64(pattern)
	}
}
