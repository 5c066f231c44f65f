package gpu

import (
	"math"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	optimModule = declare("optim", 0)

	sgdKernels   = byDType[stepper]{f32: stepperOf("sgd_f32"), f64: stepperOf("sgd_f64")}
	adamWKernels = byDType[stepper]{f32: stepperOf("adamw_f32"), f64: stepperOf("adamw_f64")}
)

// stepper is the kernels of an optimiser step for one dtype.
type stepper struct {
	many kernel // of a table
	each layouts
}

func stepperOf(name string) stepper {
	return stepper{
		many: optimModule.kernel(name + "_many"),
		each: layouts{index32: optimModule.kernel(name + "_index32"), index64: optimModule.kernel(name + "_index64")},
	}
}

const (
	tableMost  = 64   // parameters in a table
	tablePiece = 4096 // elements that a block takes
)

// stepTable is struct Table of optim.cu.
type stepTable struct {
	at    [tableMost][4]uintptr // parameter, state, gradient
	len   [tableMost]int64
	first [tableMost]uint32
	count int32
	_     int32
}

// rule is a step to be done: its kernels, and what they take first.
type rule struct {
	kernels *stepper
	size    int64 // bytes of an element
	floats  [8]float64
	used    int // of floats
	flags   [2]bool
	state   int // outputs of a parameter beside itself

	// Of AdamW, where the number of the step is in memory: the address, LR, and
	// the logarithms of Beta1 and Beta2; else 0.
	count   uintptr
	factors [3]float64
}

func (r *rule) isAdamW() bool { return r.state == 2 }

func (k *Kernels) sgdStep(s cuda.Stream, a *kernels.Args) error {
	h := &a.Attr.SGD
	r := rule{kernels: sgdKernels.of(a.Out[0].DType), size: a.Out[0].DType.Size(), used: 4,
		floats: [8]float64{h.LR, h.Momentum, 1 - h.Dampening, h.WeightDecay},
		flags:  [2]bool{h.Nesterov, h.First}}
	if h.Momentum != 0 {
		r.state = 1
	}
	return k.step(s, &r, a)
}

func (k *Kernels) adamWStep(s cuda.Stream, a *kernels.Args) error {
	h := &a.Attr.AdamW
	r := rule{kernels: adamWKernels.of(a.Out[0].DType), size: a.Out[0].DType.Size(), used: 8, state: 2,
		floats: [8]float64{h.Beta1, 1 - h.Beta1, h.Beta2, 1 - h.Beta2, 1 - h.LR*h.WeightDecay, 0, 0, h.Eps}}
	if h.Step == 0 {
		r.count = a.In[len(a.In)-1].Ptr
		r.factors = [3]float64{h.LR, math.Log(h.Beta1), math.Log(h.Beta2)}
	} else {
		r.floats[5] = h.LR / kernels.BiasCorrection(h.Beta1, h.Step)
		r.floats[6] = 1 / math.Sqrt(kernels.BiasCorrection(h.Beta2, h.Step))
	}
	return k.step(s, &r, a)
}

// step puts dense parameters in tables and queues a kernel for each full one,
// and one for each parameter with strides.
func (k *Kernels) step(s cuda.Stream, r *rule, a *kernels.Args) error {
	var t stepTable
	blocks := int64(0)
	for i := range len(a.Out) / (1 + r.state) {
		w := r.walk(a, i)
		if w.count == 0 {
			continue
		}
		if !w.dense() {
			if err := k.stepEach(s, r, &w); err != nil {
				return err
			}
			continue
		}
		pieces := (w.count + tablePiece - 1) / tablePiece
		if t.count == tableMost || blocks+pieces > math.MaxInt32 {
			if err := k.stepTable(s, r, &t, blocks); err != nil {
				return err
			}
			t.count, blocks = 0, 0
		}
		t.at[t.count] = r.operands(&w)
		t.len[t.count], t.first[t.count] = w.count, uint32(blocks)
		t.count++
		blocks += pieces
	}
	if t.count == 0 {
		return nil
	}
	return k.stepTable(s, r, &t, blocks)
}

// walk returns the walk through parameter i: itself, its state, its gradient.
func (r *rule) walk(a *kernels.Args, i int) walk {
	p := a.Out[i*(1+r.state):]
	switch r.state {
	case 0:
		return walkOver(&p[0], &a.In[i])
	case 1:
		return walkOver(&p[0], &p[1], &a.In[i])
	}
	return walkOver(&p[0], &p[1], &p[2], &a.In[i])
}

// operands returns the addresses in the kernels' order. Without a momentum
// buffer the gradient stands in for it, which nobody reads as that.
func (r *rule) operands(w *walk) [4]uintptr {
	p := w.ptrs
	if r.state == 0 {
		return [4]uintptr{p[0], p[1], p[1], 0}
	}
	return [4]uintptr{p[0], p[1], p[2], p[3]}
}

func (k *Kernels) stepTable(s cuda.Stream, r *rule, t *stepTable, blocks int64) error {
	l, err := k.prepare(r.kernels.many)
	if err != nil {
		return err
	}
	r.pass(l)
	l.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t)), 8)
	return l.Run(s, cuda.Grid{Blocks: [3]uint32{uint32(blocks)}, Threads: [3]uint32{blockThreads}})
}

func (k *Kernels) stepEach(s cuda.Stream, r *rule, w *walk) error {
	wide := k.isWide(w.count)
	l, err := k.prepare(r.kernels.each.index(wide))
	if err != nil {
		return err
	}
	r.pass(l)
	for _, p := range r.operands(w) {
		l.Ptr(cuda.DevicePtr(p))
	}
	if r.state == 0 {
		w.strides[2] = w.strides[1]
	}
	w.operands = 4
	return w.pass(l, wide).Run(s, k.line(w.count))
}

// pass adds struct SGD or AdamW of optim.cu.
func (r *rule) pass(l *cuda.Launch) {
	for _, x := range r.floats[:r.used] {
		passFloat(l, r.size, x)
	}
	if !r.isAdamW() {
		l.Uint32(bit(r.flags[0])).Uint32(bit(r.flags[1]))
		return
	}
	l.Ptr(cuda.DevicePtr(r.count))
	for _, x := range r.factors {
		passFloat(l, 8, x)
	}
}
