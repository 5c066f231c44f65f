package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	sequenceModule = declare("sequence", 0)

	sequenceKernels = byDType[layouts]{
		f32: sequenceModule.indexed("sequence_f32"), f64: sequenceModule.indexed("sequence_f64"),
		f16: sequenceModule.indexed("sequence_f16"), bf16: sequenceModule.indexed("sequence_bf16"),
		i64: sequenceModule.indexed("sequence_i64"), i32: sequenceModule.indexed("sequence_i32"),
		u8: sequenceModule.indexed("sequence_u8"),
	}
)

func (k *Kernels) sequence(s cuda.Stream, a *kernels.Args) error {
	w := orderedWalk(&a.Out[0])
	wide := k.isWide(w.count)
	l, err := k.prepare(sequenceKernels.of(a.Out[0].DType).index(wide))
	if err != nil {
		return err
	}
	w.pass(l.Ptr(cuda.DevicePtr(a.Out[0].Ptr)), wide)
	passFloat(l, 8, a.Attr.Alpha)
	passFloat(l, 8, a.Attr.Beta)
	return l.Run(s, k.line(w.count))
}
