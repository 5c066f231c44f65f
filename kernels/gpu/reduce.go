package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	reduceModule = declare("reduce", 0)

	reduceIntModule = declare("reduce_int", 0)
	prodModule      = declare("prod", 0)

	sumKernels = reducers{
		kernels.Float32: reduceModule.reducer("sum_f32", 8), kernels.Float64: reduceModule.reducer("sum_f64", 8),
		kernels.Int64: reduceIntModule.wideReducer("sum_i64", 8), kernels.Int32: reduceIntModule.wideReducer("sum_i32", 8),
		kernels.Uint8: reduceIntModule.wideReducer("sum_u8", 8),
	}
	prodKernels = reducers{
		kernels.Float32: prodModule.wideReducer("prod_f32", 8), kernels.Float64: prodModule.wideReducer("prod_f64", 8),
		kernels.Int64: reduceIntModule.wideReducer("prod_i64", 8), kernels.Int32: reduceIntModule.wideReducer("prod_i32", 8),
		kernels.Uint8: reduceIntModule.wideReducer("prod_u8", 8),
	}
	anyKernels = reducers{
		kernels.Float32: prodModule.wideReducer("any_f32", 4), kernels.Float64: prodModule.wideReducer("any_f64", 4),
		kernels.Int64: prodModule.wideReducer("any_i64", 4), kernels.Int32: prodModule.wideReducer("any_i32", 4),
		kernels.Uint8: prodModule.wideReducer("any_u8", 4),
	}
)

// reducer is the kernels of a reduction for one dtype.
type reducer struct {
	rows, cols layouts // vectors unused
	chunks     kernel
	total      int64 // bytes of a partial result
	wide       bool  // there are kernels of 64-bit indices alone
}

// reducers are those of an op by the dtype of its input.
type reducers [kernels.Uint8 + 1]reducer

// of returns the reducer for inputs of type d; a bool is a byte.
func (x *reducers) of(d kernels.DType) *reducer {
	if d == kernels.Bool {
		d = kernels.Uint8
	}
	return &x[d]
}

func (m *module) reducer(name string, total int64) reducer {
	return reducer{
		rows:   layouts{index32: m.kernel(name + "_rows_index32"), index64: m.kernel(name + "_rows_index64")},
		cols:   layouts{index32: m.kernel(name + "_cols_index32"), index64: m.kernel(name + "_cols_index64")},
		chunks: m.kernel(name + "_chunks"),
		total:  total,
	}
}

func (m *module) wideReducer(name string, total int64) reducer {
	return reducer{
		rows:   layouts{index64: m.kernel(name + "_rows_index64")},
		cols:   layouts{index64: m.kernel(name + "_cols_index64")},
		chunks: m.kernel(name + "_chunks"),
		total:  total,
		wide:   true,
	}
}

// reduction is how one call of a reducer is done.
type reduction struct {
	kept    walk // through in, out and top, over the outputs
	reduced walk // through in, over the elements of one output; ptrs are relative
	chunks  int64
	chunk   int64 // elements
	blocks  int64 // of one chunk of all outputs
	threads [2]uint32
	// byCols: neighbouring threads take neighbouring outputs, not elements.
	byCols bool
	// together: the warps of a block share an output.
	together bool
}

// reduceDims is the reduction of in to out, over the dims that are 1 in out.
// top, which Count compares with, has the dims of out, or is nil.
func reduceDims(out, in, top *kernels.View) reduction {
	r := newReduction(out, in, top)
	for d := int(in.Rank) - 1; d >= 0; d-- {
		if out.Dims[d] == in.Dims[d] {
			r.keep(d, out, in, top)
		} else {
			r.reduced.push(in.Dims[d], [maxOperands]int64{in.Strides[d]})
		}
	}
	r.reduced.simplify()
	r.plan()
	return r
}

// reduceAxis is the reduction of in to out over one dim, the elements of which
// keep their order.
func reduceAxis(out, in *kernels.View, axis int) reduction {
	r := newReduction(out, in, nil)
	for d := int(in.Rank) - 1; d >= 0; d-- {
		if d != axis {
			r.keep(d, out, in, nil)
		}
	}
	r.reduced.push(in.Dims[axis], [maxOperands]int64{in.Strides[axis]})
	r.reduced.join()
	r.plan()
	return r
}

func newReduction(out, in, top *kernels.View) reduction {
	r := reduction{kept: walk{count: 1, operands: 3}, reduced: walk{count: 1, operands: 1}}
	r.kept.ptrs = [maxOperands]uintptr{in.Ptr, out.Ptr}
	r.kept.sizes = [maxOperands]int64{in.DType.Size(), out.DType.Size()}
	r.reduced.sizes[0] = in.DType.Size()
	if top != nil {
		r.kept.ptrs[2], r.kept.sizes[2] = top.Ptr, top.DType.Size()
	}
	return r
}

func (r *reduction) keep(d int, out, in, top *kernels.View) {
	strides := [maxOperands]int64{in.Strides[d], out.Strides[d]}
	if top != nil {
		strides[2] = top.Strides[d]
	}
	r.kept.push(out.Dims[d], strides)
}

const (
	warp       = 32
	blockWarps = blockThreads / warp
)

// plan chooses the kernel and cuts the elements of an output in chunks where
// the outputs alone are too few blocks to fill a device. It looks at the dims
// and never at the device: the cuts decide in which order things are added.
func (r *reduction) plan() {
	const (
		enough = 1024 // blocks
		most   = 1024
		rowMin = 16 * blockThreads // elements of a chunk
		colMin = 16 * blockWarps
		long   = 1024 // elements that are enough for all warps of a block
		short  = 16   // elements that are too few for a warp
	)
	r.kept.simplify()
	outputs, n := r.kept.count, r.reduced.count
	ks, rs := r.kept.strides[0][0], r.reduced.strides[0][0]
	r.byCols = outputs >= warp && (n <= short || ks != 0 && (rs == 0 || ks < rs))
	least, blocks := int64(rowMin), outputs
	x, y := uint32(warp), uint32(blockWarps)
	switch {
	case r.byCols && n <= short:
		x, y = blockThreads, 1
		blocks = (outputs + blockThreads - 1) / blockThreads
	case r.byCols:
		least, blocks = colMin, (outputs+warp-1)/warp
	case n >= long:
		r.together = true
	default:
		blocks = (outputs + blockWarps - 1) / blockWarps
	}
	r.chunks = max(min(enough/blocks, n/least, most), 1)
	r.chunk = max((n+r.chunks-1)/r.chunks, 1)
	r.chunks = max((n+r.chunk-1)/r.chunk, 1)
	r.blocks, r.threads = blocks, [2]uint32{x, y}
}

// parts returns the bytes of the partial results.
func (r *reduction) parts(x *reducer) int64 {
	if r.chunks == 1 {
		return 0
	}
	return r.chunks * r.kept.count * x.total
}

// reduce queues r; parts is where the partial results go, if there are any.
func (k *Kernels) reduce(s cuda.Stream, x *reducer, r *reduction, parts uintptr, alpha float64, accumulate bool) error {
	if r.chunks == 1 {
		parts = 0
	}
	wide := x.wide || k.isWide(max(r.kept.count, r.reduced.count))
	list := &x.rows
	if r.byCols {
		list = &x.cols
	}
	l, err := k.prepare(list.index(wide))
	if err != nil {
		return err
	}
	r.pass(l, parts, r.chunk, alpha, accumulate)
	r.kept.pass(l, wide)
	r.reduced.pass(l, wide)
	grid := k.grid(r.blocks, r.threads[0], r.threads[1])
	grid.Blocks[1] = uint32(r.chunks)
	if err := l.Run(s, grid); err != nil || parts == 0 {
		return err
	}
	if l, err = k.prepare(x.chunks); err != nil {
		return err
	}
	r.pass(l, parts, r.chunks, alpha, accumulate)
	r.kept.pass(l, true)
	blocks := (r.kept.count + blockWarps - 1) / blockWarps
	return l.Run(s, k.grid(blocks, warp, blockWarps))
}

// pass adds struct Operands of reduce.cuh to the arguments.
func (r *reduction) pass(l *cuda.Launch, parts uintptr, chunk int64, alpha float64, accumulate bool) {
	in := r.kept.ptrs[0] + r.reduced.ptrs[0]
	l.Ptr(cuda.DevicePtr(r.kept.ptrs[1])).Ptr(cuda.DevicePtr(in)).Ptr(cuda.DevicePtr(r.kept.ptrs[2]))
	l.Ptr(cuda.DevicePtr(parts)).Int64(chunk)
	passFloat(l, 8, alpha)
	l.Uint32(bit(accumulate)).Uint32(bit(r.together))
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// reduceBy returns the body of an op that reduces dims by x, and says alpha to
// it where that is not its attribute.
func reduceBy(x *reducers, alpha func(a *kernels.Args) float64) body {
	return body{
		run: func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
			r := reduceDims(&a.Out[0], &a.In[0], nil)
			return k.reduce(s, x.of(a.In[0].DType), &r, a.Work.Ptr, alpha(a), a.Attr.Accumulate)
		},
		workspace: func(_ *Kernels, a *kernels.Args) int64 {
			r := reduceDims(&a.Out[0], &a.In[0], nil)
			return r.parts(x.of(a.In[0].DType))
		},
	}
}

func attrAlpha(a *kernels.Args) float64 { return a.Attr.Alpha }

// always returns the alpha of an op that has no such attribute.
func always(alpha float64) func(*kernels.Args) float64 {
	return func(*kernels.Args) float64 { return alpha }
}
