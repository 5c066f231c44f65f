package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	randomModule = declare("random", 0)

	uniformKernels = byDType[layouts]{f32: randomLayouts("uniform_f32"), f64: randomLayouts("uniform_f64"),
		f16: randomLayouts("uniform_f16"), bf16: randomLayouts("uniform_bf16")}
	normalKernels = byDType[layouts]{f32: randomLayouts("normal_f32"), f64: randomLayouts("normal_f64")}
	wholeKernels  = byDType[layouts]{f32: randomLayouts("whole_f32"), f64: randomLayouts("whole_f64"),
		i64: randomLayouts("whole_i64"), i32: randomLayouts("whole_i32"), u8: randomLayouts("whole_u8")}
	dropoutKernels = byDType[layouts]{f32: randomLayouts("dropout_f32"), f64: randomLayouts("dropout_f64"),
		f16: randomLayouts("dropout_f16"), bf16: randomLayouts("dropout_bf16")}
	// By the size of an element and by the type of the probabilities. An op of the
	// half types writes float32.
	bernoulliKernels = bySize[byDType[layouts]]{
		bernoulliLayouts("bernoulli_u8"), {}, bernoulliLayouts("bernoulli_u32"), bernoulliLayouts("bernoulli_u64")}
)

func randomLayouts(name string) layouts { return randomModule.indexed(name) }

func bernoulliLayouts(name string) byDType[layouts] {
	return byDType[layouts]{f32: randomLayouts(name + "_f32"), f64: randomLayouts(name + "_f64")}
}

// indexed makes known kernels for any strides alone.
func (m *module) indexed(name string) layouts {
	return layouts{index32: m.kernel(name + "_index32"), index64: m.kernel(name + "_index64")}
}

// orderedWalk is walkOver in row-major order, which is that of the numbers.
func orderedWalk(views ...*kernels.View) walk {
	w := pushAll(views)
	w.join()
	return w
}

// drawing begins the launch of a random op: its output and its generator.
func (k *Kernels) drawing(list *layouts, w *walk, a *kernels.Args, more ...cuda.DevicePtr) (*cuda.Launch, error) {
	wide := k.isWide(w.count)
	l, err := k.prepare(list.index(wide))
	if err != nil {
		return nil, err
	}
	l.Ptr(cuda.DevicePtr(a.Out[0].Ptr))
	for _, p := range more {
		l.Ptr(p)
	}
	l.Uint64(a.Attr.Random.Seed).Uint64(a.Attr.Random.Offset)
	return w.pass(l, wide), nil
}

// draw launches it, with a thread for each block of words.
func (k *Kernels) draw(id kernels.ID, l *cuda.Launch, s cuda.Stream, w *walk, a *kernels.Args) error {
	return l.Run(s, k.line(int64(kernels.RandomBlocks(id, a.Out[0].DType, w.count))))
}

func (k *Kernels) randomUniform(s cuda.Stream, a *kernels.Args) error {
	w := orderedWalk(&a.Out[0])
	l, err := k.drawing(uniformKernels.of(a.Out[0].DType), &w, a)
	if err != nil {
		return err
	}
	size := max(a.Out[0].DType.Size(), 4) // of what it is computed in
	passFloat(l, size, a.Attr.Alpha)
	passFloat(l, size, a.Attr.Beta-a.Attr.Alpha)
	return k.draw(kernels.RandomUniform, l, s, &w, a)
}

func (k *Kernels) randomNormal(s cuda.Stream, a *kernels.Args) error {
	w := orderedWalk(&a.Out[0])
	l, err := k.drawing(normalKernels.of(a.Out[0].DType), &w, a)
	if err != nil {
		return err
	}
	size := a.Out[0].DType.Size()
	passFloat(l, size, a.Attr.Alpha)
	passFloat(l, size, a.Attr.Beta)
	return k.draw(kernels.RandomNormal, l, s, &w, a)
}

func (k *Kernels) randomInt(s cuda.Stream, a *kernels.Args) error {
	w, r := orderedWalk(&a.Out[0]), &a.Attr.Random
	l, err := k.drawing(wholeKernels.of(a.Out[0].DType), &w, a)
	if err != nil {
		return err
	}
	l.Int64(r.Low).Uint64(uint64(r.High - r.Low))
	return k.draw(kernels.RandomInt, l, s, &w, a)
}

func (k *Kernels) bernoulli(s cuda.Stream, a *kernels.Args) error {
	out := &a.Out[0]
	p := *out // that there are none is told by their address
	p.Ptr, p.DType = 0, kernels.Float32
	if len(a.In) == 1 {
		p = a.In[0]
	}
	w := orderedWalk(out, &p)
	l, err := k.drawing(bernoulliKernels.of(out.DType.Size()).of(p.DType), &w, a, cuda.DevicePtr(p.Ptr))
	if err != nil {
		return err
	}
	below := uint64(0)
	if len(a.In) == 0 {
		below = kernels.Threshold(a.Attr.Alpha)
	}
	l.Uint64(below).Uint64(fillBits(out.DType, 1))
	return k.draw(kernels.Bernoulli, l, s, &w, a)
}

func (k *Kernels) dropout(s cuda.Stream, a *kernels.Args) error {
	w := orderedWalk(&a.Out[0], &a.In[0])
	l, err := k.drawing(dropoutKernels.of(a.Out[0].DType), &w, a, cuda.DevicePtr(a.In[0].Ptr))
	if err != nil {
		return err
	}
	l.Uint64(kernels.Threshold(a.Attr.Alpha))
	passFloat(l, max(a.Out[0].DType.Size(), 4), kernels.Kept(a.Attr.Alpha))
	return k.draw(kernels.Dropout, l, s, &w, a)
}
