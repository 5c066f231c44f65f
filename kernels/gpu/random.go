package gpu

import (
	"fmt"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	randomModule = declare("random", 0)

	uniformKernels = byDType[layouts]{f32: randomLayouts("uniform_f32"), f64: randomLayouts("uniform_f64")}
	normalKernels  = byDType[layouts]{f32: randomLayouts("normal_f32"), f64: randomLayouts("normal_f64")}
)

func randomLayouts(name string) layouts {
	return layouts{index32: randomModule.kernel(name + "_index32"), index64: randomModule.kernel(name + "_index64")}
}

// RandomBlocks returns how many blocks of random words n numbers of type d use
// up. Who asks twice with the same seed begins the second time that far from
// the first offset.
func RandomBlocks(d kernels.DType, n int64) uint64 {
	per := uint64(16 / max(d.Size(), 1))
	return (uint64(n) + per - 1) / per
}

// RandomUniform queues on q the filling of out with numbers in [0,1). Element
// i, in row-major order, is number i of kernels/ref's Uniform32 or Uniform64
// of seed and offset, to the bit. Float.
func (k *Kernels) RandomUniform(q kernels.Queue, out *kernels.View, seed, offset uint64) error {
	return k.random(q, &uniformKernels, out, seed, offset, 1, 0)
}

// RandomNormal queues on q the filling of out with numbers of a mean and a
// deviation. Element i, in row-major order, is mean plus deviation times
// number i of kernels/ref's Normal32 or Normal64 of seed and offset, but for
// some units in the last place. Float.
func (k *Kernels) RandomNormal(q kernels.Queue, out *kernels.View, seed, offset uint64, mean, deviation float64) error {
	return k.random(q, &normalKernels, out, seed, offset, deviation, mean)
}

func (k *Kernels) random(q kernels.Queue, list *byDType[layouts], out *kernels.View, seed, offset uint64, scale, shift float64) error {
	a := kernels.NewArgs() // what an output of Fill must be, this must
	defer a.Put()
	a.Out = append(a.Out, *out)
	if err := kernels.Check(kernels.Fill, kernels.Of(kernels.Float32, kernels.Float64), a); err != nil {
		return fmt.Errorf("gpu: random numbers: %w", err)
	}
	w := walk{count: 1, operands: 1}
	for d := int(out.Rank) - 1; d >= 0; d-- {
		w.push(out.Dims[d], [maxOperands]int64{out.Strides[d]})
	}
	w.join() // and not simplify: the order of elements is that of the numbers
	if w.count == 0 {
		return nil
	}
	wide := k.isWide(w.count)
	l, err := k.prepare(list.of(out.DType).index(wide))
	if err != nil {
		return err
	}
	w.pass(l.Ptr(cuda.DevicePtr(out.Ptr)).Uint64(seed).Uint64(offset), wide)
	size := out.DType.Size()
	passFloat(l, size, scale)
	passFloat(l, size, shift)
	return l.Run(q.Stream(), k.line(int64(RandomBlocks(out.DType, w.count))))
}
