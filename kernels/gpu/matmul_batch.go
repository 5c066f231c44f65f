package gpu

import (
	"fmt"

	"tarn/kernels"
)

// MatMulBatch queues many products at once. It is kernels.MatMul for operands
// with one more dim, the first one, which counts the products; an input that
// all products use has stride 0 along it. Operands are float32 or float64. The
// error is a *kernels.Error for operands that do not fit, and the device's else.
func (k *Kernels) MatMulBatch(q kernels.Queue, a *kernels.Args) error {
	if err := checkBatch(a); err != nil {
		return err
	}
	if a.Out[0].Len() == 0 {
		return nil
	}
	if a.Work.Ptr == 0 && k.MatMulBatchWorkspace(a) > 0 {
		return productError(kernels.ErrAddress, "no workspace")
	}
	p := newProduct(a, 1)
	return k.multiply(q.Stream(), &p, a.Out[0].Dims[0], a.Out[0].DType, a.Work.Ptr)
}

// MatMulBatchWorkspace returns the bytes that MatMulBatch needs in Args.Work,
// for operands that fit.
func (k *Kernels) MatMulBatchWorkspace(a *kernels.Args) int64 {
	out := &a.Out[0]
	ours := matmulWorkspace(matmulShape{out.Dims[1], out.Dims[2], a.In[0].Dims[2], out.Dims[0]}, out.DType)
	return max(ours, k.blas.workspace(a, 1))
}

// checkBatch checks that there are as many products in each operand, and the
// first of them.
func checkBatch(a *kernels.Args) error {
	first := kernels.NewArgs()
	defer first.Put()
	first.Attr = a.Attr
	for i := range a.Out {
		first.Out = append(first.Out, firstOf(&a.Out[i]))
	}
	for i := range a.In {
		first.In = append(first.In, firstOf(&a.In[i]))
	}
	if len(a.Out) == 1 {
		out := &a.Out[0]
		if out.Rank != 3 || out.Dims[0] < 0 {
			return productError(kernels.ErrDims, "out[0] %v, want rank 3", *out)
		}
		if out.Dims[0] > 1 && out.Strides[0] == 0 {
			return productError(kernels.ErrOverlap, "out[0] %v repeats a product", *out)
		}
		for i := range a.In {
			if in := &a.In[i]; in.Rank != 3 || in.Dims[0] != out.Dims[0] {
				return productError(kernels.ErrDims, "in[%d] %v, want rank 3 and as many products as in out[0] %v", i, *in, *out)
			}
		}
	}
	return kernels.Check(kernels.MatMul, kernels.Wides, first)
}

func productError(err error, format string, args ...any) error {
	return &kernels.Error{Op: kernels.MatMul, Err: err, Detail: fmt.Sprintf(format, args...)}
}

// firstOf returns the first product's part of an operand: nothing of it where
// there are no products, and the operand as it is if its rank is wrong.
func firstOf(v *kernels.View) kernels.View {
	w := *v
	if v.Rank != 3 {
		return w
	}
	w.Rank = 2
	copy(w.Dims[:2], v.Dims[1:3])
	copy(w.Strides[:2], v.Strides[1:3])
	if v.Dims[0] == 0 {
		w.Ptr, w.Dims[0], w.Dims[1] = 0, 0, 0
	}
	return w
}
