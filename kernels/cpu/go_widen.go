package cpu

import "tarn/kernels"

// An op that has no body for the half types works on float32 copies of its
// operands, made in the workspace: what it computes is rounded once, at the end.

// widens reports whether an operand of a is of a half type.
func widens(a *kernels.Args) bool {
	for i := range a.Out {
		if a.Out[i].DType.IsHalf() {
			return true
		}
	}
	for i := range a.In {
		if a.In[i].DType.IsHalf() {
			return true
		}
	}
	return false
}

// alignment is that of the host's allocations and of each copy.
const alignment = 64

// widened returns v as a float32 operand at ptr, and the bytes of its elements:
// one for all that a stride of 0 repeats.
func widened(v *kernels.View, ptr uintptr) (w kernels.View, size int64) {
	w = kernels.View{Ptr: ptr, DType: kernels.Float32, Rank: v.Rank, Dims: v.Dims}
	n := int64(1)
	for d := int(v.Rank) - 1; d >= 0; d-- {
		if v.Strides[d] != 0 || v.Dims[d] == 0 {
			w.Strides[d] = n
			n *= v.Dims[d]
		}
	}
	return w, (4*n + alignment - 1) &^ (alignment - 1)
}

// distinct returns v with dims of 1 where it repeats elements.
func distinct(v kernels.View) kernels.View {
	for d := range v.Dims[:v.Rank] {
		if v.Strides[d] == 0 && v.Dims[d] > 1 {
			v.Dims[d] = 1
		}
	}
	return v
}

// widen returns a on float32 copies that lie from ptr on, and where they end.
// With ptr 0 it is good for asking how large things are.
func widen(a *kernels.Args, ptr uintptr) (*kernels.Args, uintptr) {
	wide := kernels.NewArgs()
	wide.Attr = a.Attr
	put := func(list, from []kernels.View) []kernels.View {
		for i := range from {
			v, size := from[i], int64(0)
			if v.DType.IsHalf() {
				v, size = widened(&from[i], ptr)
			}
			list = append(list, v)
			ptr += uintptr(size)
		}
		return list
	}
	wide.Out, wide.In = put(wide.Out, a.Out), put(wide.In, a.In)
	return wide, ptr
}

func (b *bodies) widenedWorkspace(a *kernels.Args) int64 {
	wide, end := widen(a, alignment)
	defer wide.Put()
	size := int64(end) - alignment
	if b.workspace != nil {
		size += b.workspace(wide)
	}
	return size
}

func (b *bodies) runWidened(id kernels.ID, a *kernels.Args) error {
	if a.Work.Ptr == 0 && b.widenedWorkspace(a) > 0 {
		return &kernels.Error{Op: id, Err: kernels.ErrAddress, Detail: "no workspace"}
	}
	wide, end := widen(a, a.Work.Ptr)
	defer wide.Put()
	wide.Work = a.Work
	wide.Work.Ptr = end
	for i := range a.In {
		if a.In[i].DType.IsHalf() {
			convertInto(distinct(wide.In[i]), distinct(a.In[i]))
		}
	}
	for i := range a.Out {
		if (a.Attr.Accumulate || b.updates) && a.Out[i].DType.IsHalf() {
			convertInto(wide.Out[i], a.Out[i])
		}
	}
	if err := b.run(id, wide); err != nil {
		return err
	}
	for i := range a.Out {
		if a.Out[i].DType.IsHalf() {
			convertInto(a.Out[i], wide.Out[i])
		}
	}
	return nil
}

// convertInto copies in to out, one of a half type and the other of float32.
func convertInto(out, in kernels.View) {
	a := kernels.NewArgs()
	defer a.Put()
	a.Out, a.In = append(a.Out, out), append(a.In, in)
	_ = convertHalf(a) // which cannot fail
}

var convertHalf = func() func(*kernels.Args) error {
	do := convertAll[float32, float32]
	return func(a *kernels.Args) error { return overRuns(a, do) }
}()
