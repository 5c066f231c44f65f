package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	scanModule = declare("scan", 0)

	cumSumKernels      = scanKernels("cumsum", "f32", "f64", "i64", "i32", "u8")
	cumProdKernels     = scanKernels("cumprod", "f32", "f64", "i64", "i32", "u8")
	cumProdGradKernels = scanKernels("cumprod_grad", "f32", "f64")
)

// scanner is the kernels of a scan for one dtype.
type scanner struct{ serial, together kernel }

// scanners are those of an op by the dtype of its last but one input.
type scanners [kernels.Uint8 + 1]scanner

var scanTypes = map[string]kernels.DType{
	"f32": kernels.Float32, "f64": kernels.Float64, "i64": kernels.Int64, "i32": kernels.Int32, "u8": kernels.Uint8,
}

func scanKernels(op string, types ...string) *scanners {
	x := new(scanners)
	for _, t := range types {
		name := op + "_" + t
		x[scanTypes[t]] = scanner{serial: scanModule.kernel(name + "_serial"), together: scanModule.kernel(name + "_together")}
	}
	return x
}

// rowsOf returns the walk over the rows of operands along axis: to the first
// element of each.
func rowsOf(axis int, operands ...*kernels.View) walk {
	w := walk{count: 1, operands: len(operands)}
	for j, v := range operands {
		w.ptrs[j], w.sizes[j] = v.Ptr, v.DType.Size()
	}
	for d := int(operands[0].Rank) - 1; d >= 0; d-- {
		if d == axis {
			continue
		}
		var strides [maxOperands]int64
		for j, v := range operands {
			strides[j] = v.Strides[d]
		}
		w.push(operands[0].Dims[d], strides)
	}
	w.join()
	return w
}

// scan returns the body of a scan. Short rows, and those of which there are
// enough for a device, are taken by a thread each, others by a block. A row is
// one block's work at most: what few long ones cost grows with their length.
func scan(x *scanners) body {
	const short, enough = 64, 1 << 14
	return body{run: func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		var operands [4]*kernels.View
		operands[0] = &a.Out[0]
		for j := range 3 {
			operands[1+j] = &a.In[min(j, len(a.In)-1)]
		}
		axis := a.Attr.Axis
		n := a.In[0].Dims[axis]
		w := rowsOf(axis, operands[:]...)
		d := a.In[0].DType
		if d == kernels.Bool {
			d = kernels.Uint8
		}
		serial := n <= short || w.count >= enough
		kernel, grid := x[d].together, k.grid(w.count, blockThreads, 1)
		if serial {
			kernel, grid = x[d].serial, k.line(w.count)
		}
		l, err := k.prepare(kernel)
		if err != nil {
			return err
		}
		for j := range operands {
			l.Ptr(cuda.DevicePtr(w.ptrs[j]))
		}
		for _, v := range operands {
			l.Int64(v.Strides[axis])
		}
		l.Int64(n)
		return w.pass(l, true).Run(s, grid)
	}}
}
