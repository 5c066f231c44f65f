package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

// An op without kernels for the half types is done in float32, on copies in the
// workspace: first those of the outputs, if they are read, and of the inputs are
// made, then the op's kernels run, then the outputs are copied back. All are
// launches on one stream, as those of the op are.

const (
	// copyAlignment is that of each copy: what cuBLASLt asks for at most, whose
	// plan is the same then for the workspace that was asked for and the one that
	// is there.
	copyAlignment = 256
	workAlignment = 16 // which is all that callers promise
)

// inFloats reports whether the op runs on copies of operands of a.
func (b *body) inFloats(a *kernels.Args) bool { return !b.halves && (anyHalf(a.Out) || anyHalf(a.In)) }

func anyHalf(views []kernels.View) bool {
	for i := range views {
		if views[i].DType.IsHalf() {
			return true
		}
	}
	return false
}

// floats returns the call in float32 in place of a, with the copies from the
// workspace's first multiple of copyAlignment on and what is left of it as the
// op's own; and the bytes of the copies. The caller puts the call back.
func floats(a *kernels.Args) (f *kernels.Args, size int64) {
	f = kernels.NewArgs()
	f.Attr, f.Work = a.Attr, a.Work
	f.Work.Ptr = (a.Work.Ptr + copyAlignment - 1) &^ (copyAlignment - 1)
	first := f.Work.Ptr
	for i := range a.Out {
		f.Out = append(f.Out, floatCopy(a, f, &a.Out[i]))
	}
	for i := range a.In {
		f.In = append(f.In, floatCopy(a, f, &a.In[i]))
	}
	return f, int64(f.Work.Ptr - first)
}

// floatCopy returns the operand of f that stands for v, the next one of a. It is
// v itself if that is no half, and the one of an earlier operand if that has the
// same elements: an op in place stays one. Else it takes its bytes from f.Work.
func floatCopy(a, f *kernels.Args, v *kernels.View) kernels.View {
	if !v.DType.IsHalf() {
		return *v
	}
	for i := range f.Out {
		if a.Out[i].DType == v.DType && a.Out[i].SameElements(v) {
			return f.Out[i]
		}
	}
	for i := range f.In {
		if a.In[i].DType == v.DType && a.In[i].SameElements(v) {
			return f.In[i]
		}
	}
	c, n := compact(v, f.Work.Ptr)
	f.Work.Ptr += uintptr((n*c.DType.Size() + copyAlignment - 1) &^ (copyAlignment - 1))
	return c
}

// compact returns a float32 operand at ptr with the dims of v, and how many
// elements it has in memory. They lie dense in the order in which those of v do,
// so that rows stay rows and columns columns; where v repeats elements it does.
func compact(v *kernels.View, ptr uintptr) (c kernels.View, elements int64) {
	c = kernels.View{Ptr: ptr, DType: kernels.Float32, Rank: v.Rank, Dims: v.Dims}
	var order [kernels.MaxRank]int // of the dims, from the innermost
	for d := range int(v.Rank) {
		at := d
		for ; at > 0 && abs(v.Strides[order[at-1]]) >= abs(v.Strides[d]); at-- {
			order[at] = order[at-1]
		}
		order[at] = d
	}
	elements = 1
	for _, d := range order[:v.Rank] {
		if v.Strides[d] == 0 && v.Dims[d] > 1 {
			continue
		}
		c.Strides[d] = elements
		elements *= v.Dims[d]
	}
	return c, elements
}

// workspaceInFloats returns the bytes that runInFloats needs in Args.Work.
func (k *Kernels) workspaceInFloats(b *body, a *kernels.Args) int64 {
	f, size := floats(a)
	defer f.Put()
	if b.workspace != nil {
		size += b.workspace(k, f)
	}
	if size == 0 {
		return 0
	}
	return size + copyAlignment - workAlignment
}

// runInFloats queues the op on copies of its half operands.
func (k *Kernels) runInFloats(s cuda.Stream, b *body, a *kernels.Args) error {
	f, _ := floats(a)
	defer f.Put()
	if b.updates || a.Attr.Accumulate {
		for i := range a.Out {
			if err := k.copyHalf(s, &f.Out[i], &a.Out[i]); err != nil {
				return err
			}
		}
	}
	for i := range a.In {
		if isAmong(f.In[:i], &f.In[i]) {
			continue
		}
		if err := k.copyHalf(s, &f.In[i], &a.In[i]); err != nil {
			return err
		}
	}
	if err := b.run(k, s, f); err != nil {
		return err
	}
	for i := range a.Out {
		if err := k.copyHalf(s, &a.Out[i], &f.Out[i]); err != nil {
			return err
		}
	}
	return nil
}

// isAmong reports whether v has the bytes of one of the views. Empty ones take no
// place, and have the address of the next.
func isAmong(views []kernels.View, v *kernels.View) bool {
	for i := range views {
		if views[i].Ptr == v.Ptr && views[i].Len() > 0 {
			return true
		}
	}
	return false
}

// copyHalf queues a copy between a half operand and what stands for it in
// float32; nothing if that is the operand itself.
func (k *Kernels) copyHalf(s cuda.Stream, out, in *kernels.View) error {
	if out.DType == in.DType || out.Len() == 0 {
		return nil
	}
	o, i := once(out), once(in)
	return k.copyTo(s, &o, &i)
}

// once returns v without the repetition of elements.
func once(v *kernels.View) kernels.View {
	w := *v
	for d := range w.Strides[:w.Rank] {
		if w.Strides[d] == 0 {
			w.Dims[d] = 1
		}
	}
	return w
}
