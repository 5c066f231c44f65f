package cpu

import "tarn/kernels"

// elementwise returns the body of an op that makes one element of the output
// from one of each input.
func elementwise[T element](id kernels.ID) func(*kernels.Args) error {
	f := functionOf[T](id)
	grain := int64(serialBelow)
	if f.costly {
		grain /= 8
	}
	return func(a *kernels.Args) error {
		w := elementwiseWalk(a)
		if elementwiseInC(id, &w, float32(a.Attr.Alpha), float32(a.Attr.Beta)) {
			return nil
		}
		s := scalars[T]{T(a.Attr.Alpha), T(a.Attr.Beta), &a.Attr}
		if chunks(w.total, grain) == 1 {
			applyAll(f, &w, s)
			return nil
		}
		shared := w
		parallel(w.total, grain, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			applyAll(f, &w, s)
		})
		return nil
	}
}

// elementwiseBodies returns the bodies of an elementwise op. Those of integers go
// by what these are stored as.
func elementwiseBodies(id kernels.ID) bodies {
	if id == kernels.Where {
		return bodies{f32: where, f64: where, i64: where, loads: true}
	}
	make64, make32, make8 := elementwise[int64], elementwise[int32], elementwise[uint8]
	b := bodies{loads: true}
	if isTest(id) {
		b.f32, b.f64 = compares[float32](id), compares[float64](id)
		make64, make32, make8 = compares[int64], compares[int32], compares[uint8]
	} else {
		b.f32, b.f64 = elementwise[float32](id), elementwise[float64](id)
	}
	in64, in32, in8, ofBools := make64(id), make32(id), make8(id), make8(asBits(id))
	b.i64 = func(a *kernels.Args) error {
		switch a.In[0].DType {
		case kernels.Int32:
			return in32(a)
		case kernels.Uint8:
			return in8(a)
		case kernels.Bool:
			return ofBools(a)
		}
		return in64(a)
	}
	return b
}

// isTest reports whether the op tells of numbers whether something is so.
func isTest(id kernels.ID) bool { return id.DTypes() == kernels.Of(kernels.Bool) }

func elementwiseWalk(a *kernels.Args) walk {
	switch len(a.In) {
	case 1:
		return newWalk(&a.Out[0], &a.In[0])
	case 2:
		return newWalk(&a.Out[0], &a.In[0], &a.In[1])
	}
	return newWalk(&a.Out[0], &a.In[0], &a.In[1], &a.In[2])
}

// elementwiseInC does the op if it is one for C. An input of one operand has no
// use for a scalar that is repeated, nor has C for two of them.
func elementwiseInC(id kernels.ID, w *walk, alpha, beta float32) bool {
	c := w.elementsInC()
	if c == nil || !c.has(id) || w.step(1) == 0 && (w.operands == 2 || w.step(2) == 0) {
		return false
	}
	var r rows
	for w.nextRows(&r) {
		c.elementwise(id, r, alpha, beta)
	}
	return true
}

// applyAll does the op for all runs of w, on the operands where they lie if that
// is possible.
func applyAll[T element](f *function[T], w *walk, s scalars[T]) {
	if !direct[T](w) {
		applyBlocks(f, w, s)
		return
	}
	for w.next() {
		var in [2][]T
		for k := range w.operands - 1 {
			in[k] = dense[T](w.ptr[k+1], w.n)
		}
		f.apply(dense[T](w.ptr[0], w.n), in[0], in[1], s)
	}
}

// applyBlocks is applyAll on blocks of operands in buffers.
func applyBlocks[T element](f *function[T], w *walk, s scalars[T]) {
	bufs := f.buffers.Get().(*blocks[T])
	defer f.buffers.Put(bufs)
	var in [2][]T
	w.limit = blockLen
	for w.next() {
		out := room(w, 0, &bufs[0])
		for k := range w.operands - 1 {
			in[k] = run(w, k+1, &bufs[k+1])
		}
		f.apply(out, in[0], in[1], s)
		store(w, 0, &bufs[0])
	}
}
