package kerneltest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tarn/kernels"
)

// fault spoils a good call in one way; want is the error that must come of it.
type fault struct {
	name  string
	want  error
	spoil func(c *call) bool // false where the call cannot be spoilt like this
}

var faults = []fault{
	{"no output", kernels.ErrArgs, func(c *call) bool { c.out = nil; return true }},
	{"one output more", kernels.ErrArgs, func(c *call) bool { c.out = append(c.out, c.out[0]); return true }},
	{"one input less", kernels.ErrArgs, func(c *call) bool {
		if len(c.in) == 0 || hasOptional(c.id) {
			return false
		}
		c.in = c.in[:len(c.in)-1]
		return true
	}},
	{"inputs doubled", kernels.ErrArgs, func(c *call) bool {
		c.in = append(c.in, c.in...)
		return len(c.in) > 0
	}},
	{"invalid output dtype", kernels.ErrDType, onOut(func(v *kernels.View) { v.DType = kernels.Invalid })},
	{"unknown output dtype", kernels.ErrDType, onOut(func(v *kernels.View) { v.DType = 77 })},
	{"invalid input dtype", kernels.ErrDType, onLast(func(v *kernels.View) { v.DType = kernels.Invalid })},
	{"another output dtype", kernels.ErrDType, func(c *call) bool {
		v := &c.out[0].view
		v.DType = kernels.Int64
		if c.id.DTypes().Has(kernels.Int64) {
			v.DType = kernels.Float32
		}
		return !c.id.DTypes().Has(v.DType)
	}},
	{"another input dtype", kernels.ErrDType, func(c *call) bool {
		types, ofInput := c.id.Selects()
		if len(c.in) == 0 || c.id == kernels.Copy || ofInput && types.Has(kernels.Int64) {
			return false
		}
		for i := range c.in {
			v := &c.in[i].view
			if v.DType == kernels.Int64 {
				v.DType = kernels.Float64
			} else {
				v.DType = kernels.Int64
			}
		}
		return true
	}},
	{"rank -1", kernels.ErrDims, onOut(func(v *kernels.View) { v.Rank = -1 })},
	{"rank 9", kernels.ErrDims, onLast(func(v *kernels.View) { v.Rank = kernels.MaxRank + 1 })},
	{"negative dim", kernels.ErrDims, onDim(func(v *kernels.View) { v.Dims[0] = -1 })},
	{"too many elements", kernels.ErrDims, func(c *call) bool {
		for _, list := range [][]operand{c.out, c.in} {
			for i := range list {
				v := &list[i].view
				v.Rank = 3
				v.Dims, v.Strides = [8]int64{1 << 30, 1 << 30, 1 << 30}, [8]int64{1 << 60, 1 << 30, 1}
			}
		}
		return true
	}},
	{"longer input", kernels.ErrDims, onDim(func(v *kernels.View) { v.Dims[0]++ })},
	{"input of higher rank", kernels.ErrDims, onLast(func(v *kernels.View) {
		v.Dims[v.Rank], v.Strides[v.Rank] = 2, 1
		v.Rank++
	})},
	{"no address", kernels.ErrAddress, onOut(func(v *kernels.View) { v.Ptr = nowhere })},
	{"odd address", kernels.ErrAddress, func(c *call) bool {
		v := &c.out[0].view
		v.Ptr++
		return v.DType.Size() > 1
	}},
	{"output repeats elements", kernels.ErrOverlap, func(c *call) bool {
		for d, n := range c.out[0].view.Dims[:c.out[0].view.Rank] {
			if n > 1 {
				c.out[0].view.Strides[d] = 0
				return true
			}
		}
		return false
	}},
	{"output one element behind an input", kernels.ErrOverlap, func(c *call) bool {
		for _, in := range c.in {
			if in.view.DType == c.out[0].view.DType && in.view.Len() > 1 {
				c.out[0].mem = in.mem
				c.out[0].view.Ptr = in.view.Ptr + uintptr(in.view.DType.Size())
				return true
			}
		}
		return false
	}},
	{"output transposed over an input", kernels.ErrOverlap, func(c *call) bool {
		if c.out[0].view.Rank != 2 || len(c.in) == 0 || !c.in[0].view.SameDims(&c.out[0].view) ||
			c.in[0].view.DType != c.out[0].view.DType {
			return false
		}
		c.out[0] = c.in[0]
		s := &c.out[0].view.Strides
		s[0], s[1] = 1, c.out[0].view.Dims[0]
		return true
	}},
	{"axis out of range", kernels.ErrAttr, func(c *call) bool { c.attr.Axis = 2; return alongAxis(c.id) }},
	{"negative axis", kernels.ErrAttr, func(c *call) bool { c.attr.Axis = -1; return alongAxis(c.id) }},
	{"no groups", kernels.ErrAttr, func(c *call) bool { return inGroups(c, 0) }},
	{"groups that do not divide", kernels.ErrAttr, func(c *call) bool { return inGroups(c, 4) }},
	{"smoothing beyond 1", kernels.ErrAttr, func(c *call) bool {
		c.attr.Loss.Smoothing = 1.5
		return c.id == kernels.NLL || c.id == kernels.NLLGrad
	}},
	{"unknown activation", kernels.ErrAttr, func(c *call) bool { c.attr.Activation = 9; return c.id == kernels.MatMul }},
	{"accumulate with bias", kernels.ErrAttr, func(c *call) bool { c.attr.Accumulate = true; return c.id == kernels.MatMul }},
	{"step -1", kernels.ErrAttr, func(c *call) bool {
		c.attr.AdamW.Step = -1
		return c.id == kernels.AdamWStep && len(c.in) == 2
	}},
	{"step 0 and none in memory", kernels.ErrArgs, func(c *call) bool {
		c.attr.AdamW.Step = 0
		return c.id == kernels.AdamWStep && len(c.in) == 2
	}},
	{"a step in memory of float", kernels.ErrDType, onStep(func(v *kernels.View) { v.DType = kernels.Float64 })},
	{"a step in memory of rank 1", kernels.ErrDims, onStep(func(v *kernels.View) { v.Rank, v.Dims[0], v.Strides[0] = 1, 1, 1 })},
	{"a step in memory without address", kernels.ErrAddress, onStep(func(v *kernels.View) { v.Ptr = nowhere })},
	{"a step in a parameter", kernels.ErrOverlap, func(c *call) bool {
		if !c.countsInMemory() {
			return false
		}
		last := &c.in[len(c.in)-1]
		last.mem, last.view.Ptr = c.out[3].mem, (c.out[3].view.Ptr+7)&^7
		return true
	}},
	{"stride 0", kernels.ErrAttr, onWindow(func(stride, _ *[2]int) { stride[1] = 0 })},
	{"negative padding", kernels.ErrAttr, onWindow(func(_, padding *[2]int) { padding[0] = -1 })},
	{"windows of another output", kernels.ErrDims, onWindow(func(stride, _ *[2]int) { stride[0] = 3 })},
	{"no groups", kernels.ErrAttr, func(c *call) bool { c.attr.Conv.Groups = 0; return isConv(c.id) }},
	{"groups that do not divide", kernels.ErrDims, func(c *call) bool { c.attr.Conv.Groups = 3; return isConv(c.id) }},
	{"padding of more than half a window", kernels.ErrAttr, func(c *call) bool { c.attr.Pool.Padding[0] = 2; return hasWindows(c.id) }},
	{"dilated means", kernels.ErrAttr, func(c *call) bool {
		c.attr.Pool.Dilation[1] = 2
		return c.id == kernels.AvgPool || c.id == kernels.AvgPoolGrad
	}},
	{"bounds out of order", kernels.ErrAttr, func(c *call) bool {
		c.attr.Alpha, c.attr.Beta = 2, 1
		c.attr.Random.Low, c.attr.Random.High = 1, 1
		return c.id == kernels.RandomUniform || c.id == kernels.RandomInt
	}},
	{"negative deviation", kernels.ErrAttr, func(c *call) bool { c.attr.Beta = -1; return c.id == kernels.RandomNormal }},
	{"probability beyond 1", kernels.ErrAttr, func(c *call) bool {
		c.attr.Alpha = 1.5
		return c.id == kernels.Bernoulli && len(c.in) == 0 || c.id == kernels.Dropout
	}},
	{"nothing to reduce", kernels.ErrDims, func(c *call) bool {
		switch c.id {
		case kernels.Max, kernels.Min, kernels.ArgMax, kernels.ArgMin:
		default:
			return false
		}
		c.in[0].view.Dims[1] = 0
		return true
	}},
}

// alongAxis reports whether id goes by Attr.Axis.
func alongAxis(id kernels.ID) bool {
	return id == kernels.ArgMax || id == kernels.ArgMin || id >= kernels.CumSum && id <= kernels.ScatterAdd ||
		id >= kernels.Softmax && id <= kernels.LogSoftmaxGrad
}

func inGroups(c *call, groups int) bool {
	c.attr.Norm.Groups = groups
	return c.id == kernels.GroupNorm || c.id == kernels.GroupNormGrad
}

// hasOptional reports whether the sample of id has inputs that may be left out.
func hasOptional(id kernels.ID) bool {
	return id == kernels.MatMul || id == kernels.Conv || id == kernels.Bernoulli || id >= kernels.LayerNorm && id <= kernels.NLLGrad
}

// onOut and onLast change the first output and the last input, onDim the first
// dim of an input that has one.

func onOut(f func(*kernels.View)) func(*call) bool {
	return func(c *call) bool { f(&c.out[0].view); return true }
}

func onLast(f func(*kernels.View)) func(*call) bool {
	return func(c *call) bool {
		if len(c.in) == 0 {
			return false
		}
		f(&c.in[len(c.in)-1].view)
		return true
	}
}

func onDim(f func(*kernels.View)) func(*call) bool {
	return func(c *call) bool {
		for i := range c.in {
			if c.in[i].view.Rank > 0 {
				f(&c.in[i].view)
				return true
			}
		}
		return false
	}
}

// onWindow changes the stride and the padding of a convolution or a pooling.
func onWindow(f func(stride, padding *[2]int)) func(*call) bool {
	return func(c *call) bool {
		f(&c.attr.Conv.Stride, &c.attr.Conv.Padding)
		f(&c.attr.Pool.Stride, &c.attr.Pool.Padding)
		return isConv(c.id) || hasWindows(c.id)
	}
}

// onStep changes the input that holds the number of a step.
func onStep(f func(*kernels.View)) func(*call) bool {
	return func(c *call) bool {
		if !c.countsInMemory() {
			return false
		}
		f(&c.in[len(c.in)-1].view)
		return true
	}
}

// goodCall returns a call of id that every table takes; last picks its last
// form.
func goodCall(t *testing.T, id kernels.ID, last bool) *call {
	s := &suite{T: t, rand: rand.New(rand.NewPCG(3, uint64(id))), id: id, dtype: sampleType(id)}
	return familyOf(id).sample(s, last)
}

// sampleType is float32 for an op that has it.
func sampleType(id kernels.ID) kernels.DType {
	types := byDType(id)
	if types.Has(kernels.Float32) {
		return kernels.Float32
	}
	return types.List()[0]
}

// refuse tests that bad arguments are the right typed error and leave every
// byte as it was.
func refuse(t *testing.T, on device) {
	for id := range kernels.ID(kernels.NumOps) {
		if on.table[id] == nil {
			continue
		}
		refuseCalls(t, on, id, false)
		refuseCalls(t, on, id, true)
	}
}

func refuseCalls(t *testing.T, on device, id kernels.ID, last bool) {
	if err := goodCall(t, id, last).compare(on); err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		c := goodCall(t, id, last)
		if !f.spoil(c) {
			continue
		}
		r := c.run(on)
		var e *kernels.Error
		if !errors.As(r.err, &e) || !errors.Is(r.err, f.want) || e.Op != id {
			t.Errorf("%v, %s: error %v, want %v", id, f.name, r.err, f.want)
		}
		if err := c.compareBytes(r, true); err != nil {
			t.Errorf("%v, %s: %v", id, f.name, err)
		}
	}
}
