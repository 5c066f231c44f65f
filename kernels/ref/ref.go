// Package ref does every op of package kernels in plain Go: one element at a
// time, by indices and strides, sums in float64 without rounding errors to speak
// of. It is slow and plainly right,
// the oracle that the other bodies are tested against. It takes no care of
// speed at all, needs no workspace and allocates as it likes.
//
// Operands are addresses in host memory, as for kernels/cpu.
package ref

import (
	"math"
	"unsafe"

	"tarn/kernels"
)

type float interface{ float32 | float64 }

type element interface{ float | int64 }

// Table returns the reference ops.
func Table() *kernels.Table {
	t := new(kernels.Table)
	for id := range kernels.ID(kernels.NumOps) {
		body := bodies[id]
		t[id] = &kernels.Op{
			ID:     id,
			DTypes: id.DTypes(),
			Run: func(_ kernels.Queue, a *kernels.Args) error {
				if err := kernels.Check(id, id.DTypes(), a); err != nil {
					return err
				}
				return body.run(a)
			},
		}
	}
	return t
}

// body is an op for each dtype of Out[0]; nil where the op has none.
type body struct {
	f32, f64, i64 func(a *kernels.Args) error
}

func (b body) run(a *kernels.Args) error {
	switch a.Out[0].DType {
	case kernels.Float32:
		return b.f32(a)
	case kernels.Float64:
		return b.f64(a)
	default:
		return b.i64(a)
	}
}

var bodies = [kernels.NumOps]body{
	kernels.Fill:             {fill[float32], fill[float64], fill[int64]},
	kernels.Copy:             {convert[float32], convert[float64], convert[int64]},
	kernels.Add:              {add[float32], add[float64], add[int64]},
	kernels.Sub:              {sub[float32], sub[float64], sub[int64]},
	kernels.Mul:              {mul[float32], mul[float64], mul[int64]},
	kernels.Div:              {div[float32], div[float64], nil},
	kernels.Affine:           {affine[float32], affine[float64], nil},
	kernels.Exp:              {exp[float32], exp[float64], nil},
	kernels.Log:              {log[float32], log[float64], nil},
	kernels.Sqrt:             {sqrt[float32], sqrt[float64], nil},
	kernels.ReLU:             {relu[float32], relu[float64], nil},
	kernels.ReLUGrad:         {reluGrad[float32], reluGrad[float64], nil},
	kernels.Sum:              {sum[float32], sum[float64], nil},
	kernels.Max:              {maximum[float32], maximum[float64], nil},
	kernels.MaxGrad:          {maxGrad[float32], maxGrad[float64], nil},
	kernels.ArgMax:           {nil, nil, argMax},
	kernels.MatMul:           {matMul[float32], matMul[float64], nil},
	kernels.CrossEntropy:     {crossEntropy[float32], crossEntropy[float64], nil},
	kernels.CrossEntropyGrad: {crossEntropyGrad[float32], crossEntropyGrad[float64], nil},
	kernels.SGDStep:          {sgdStep[float32], sgdStep[float64], nil},
	kernels.AdamWStep:        {adamWStep[float32], adamWStep[float64], nil},
}

// at returns the element of v at an index.
func at[T element](v *kernels.View, index ...int64) *T {
	addr := v.Ptr
	for d, i := range index {
		addr += uintptr(i * v.Strides[d] * v.DType.Size())
	}
	// The indirection says that an address is meant to become a pointer here.
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&addr)))
}

// value returns the element of v at an index as a float64, whatever the type.
func value(v *kernels.View, index ...int64) float64 {
	switch v.DType {
	case kernels.Float32:
		return float64(*at[float32](v, index...))
	case kernels.Float64:
		return *at[float64](v, index...)
	default:
		return float64(*at[int64](v, index...))
	}
}

// each calls f with every index of v in row-major order.
func each(v *kernels.View, f func(index []int64)) {
	dims := v.Dims[:v.Rank]
	index := make([]int64, v.Rank)
	for range v.Len() {
		f(index)
		for d := len(dims) - 1; d >= 0; d-- {
			index[d]++
			if index[d] < dims[d] {
				break
			}
			index[d] = 0
		}
	}
}

// eachOf calls f with every index of big that is reduced to the element of
// small, which has dims of 1 where big is reduced, at the given index.
func eachOf(big, small *kernels.View, index []int64, f func(index []int64)) {
	part := *big // the elements in question, counted from 0 on along every dim
	from := make([]int64, big.Rank)
	for d := range from {
		if small.Dims[d] == big.Dims[d] {
			part.Dims[d] = 1
			from[d] = index[d]
		}
	}
	at := make([]int64, big.Rank)
	each(&part, func(i []int64) {
		for d := range at {
			at[d] = from[d] + i[d]
		}
		f(at)
	})
}

// exact adds up numbers with the rounding error of each addition carried along
// (Neumaier), so that its sum is right to the last bit or so.
type exact struct{ sum, lost float64 }

func (e *exact) add(x float64) {
	s := e.sum + x
	if math.Abs(e.sum) >= math.Abs(x) {
		e.lost += (e.sum - s) + x
	} else {
		e.lost += (x - s) + e.sum
	}
	e.sum = s
}

func (e *exact) value() float64 {
	if math.IsInf(e.sum, 0) || math.IsNaN(e.sum) {
		return e.sum // lost is NaN then
	}
	return e.sum + e.lost
}
