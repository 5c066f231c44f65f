package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	convertModule = declare("convert", 0)

	// conversions are by what the source is computed with, see dtype.cuh.
	conversions = struct{ f32, f64, i64 layouts }{
		convertModule.layouts("convert_f32"), convertModule.layouts("convert_f64"), convertModule.layouts("convert_i64"),
	}
)

// convertWidth is how many elements convert.cu takes at a time.
const convertWidth = 8

// convert queues the conversion of the second operand of w to the first.
func (k *Kernels) convert(s cuda.Stream, w *walk, to, from kernels.DType) error {
	list := &conversions.i64
	switch {
	case from == kernels.Float64:
		list = &conversions.f64
	case from.IsFloat():
		list = &conversions.f32
	}
	l, threads, err := k.walking(list, w, convertWidth)
	if err != nil {
		return err
	}
	return l.Uint32(uint32(to)).Uint32(uint32(from)).Run(s, k.line(threads))
}
