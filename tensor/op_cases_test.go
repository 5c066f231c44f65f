package tensor_test

import (
	"math"
	"math/rand/v2"

	"tarn/tensor"
)

// opCase is an op that BenchmarkOp times, on operands of about n elements.
type opCase struct {
	name  string
	make  func(d *tensor.Device, n int) []*tensor.Tensor
	run   func(in []*tensor.Tensor) *tensor.Tensor
	flops func(in []*tensor.Tensor) float64 // nil: the op is bound by memory
	// beside is the bytes of what run writes and releases beside its result, for
	// each element of that.
	beside float64
	grad   bool // the first operand requires grad
}

// floats returns random float32 of the given shape.
func floats(d *tensor.Device, shape ...int) *tensor.Tensor {
	n := 1
	for _, k := range shape {
		n *= k
	}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	data := make([]float32, n)
	for i := range data {
		data[i] = r.Float32()*4 - 2
	}
	return tensor.FromSlice(d, data, shape...)
}

func classes(d *tensor.Device, n, below int) *tensor.Tensor {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	data := make([]int64, n)
	for i := range data {
		data[i] = r.Int64N(int64(below))
	}
	return tensor.FromSlice(d, data)
}

func side(n int) int { return int(math.Sqrt(float64(n))) }

// opCases has an op or more of every family.
func opCases() []opCase {
	type (
		D = *tensor.Device
		T = *tensor.Tensor
	)
	vector := func(d D, n int) []T { return []T{floats(d, n)} }
	two := func(d D, n int) []T { return []T{floats(d, n), floats(d, n)} }
	square := func(d D, n int) []T { return []T{floats(d, side(n), side(n))} }
	of := func(dt tensor.DType, shape func(D, int) []T) func(D, int) []T {
		return func(d D, n int) []T {
			in := shape(d, n)
			for i, t := range in {
				in[i] = t.MulScalar(50).To(dt)
			}
			return in
		}
	}
	one := func(f func(T) T) func([]T) T { return func(in []T) T { return f(in[0]) } }
	first := func(f func(T) (T, T)) func([]T) T {
		return func(in []T) T {
			v, i := f(in[0])
			_ = i.Release()
			return v
		}
	}
	cases := []opCase{
		{name: "Add", make: two, run: func(in []T) T { return in[0].Add(in[1]) }, grad: true},
		{name: "Add row", make: func(d D, n int) []T { return []T{floats(d, side(n), side(n)), floats(d, side(n))} },
			run: func(in []T) T { return in[0].Add(in[1]) }, grad: true},
		{name: "Mul", make: two, run: func(in []T) T { return in[0].Mul(in[1]) }, grad: true},
		{name: "MulScalar", make: vector, run: one(func(t T) T { return t.MulScalar(1.5) }), grad: true},
		{name: "Exp", make: vector, run: one(T.Exp), grad: true},
		{name: "ReLU", make: vector, run: one(T.ReLU), grad: true},
		{name: "GELU", make: vector, run: one(T.GELU), grad: true},
		{name: "Tanh", make: vector, run: one(T.Tanh), grad: true},
		{name: "Where", make: func(d D, n int) []T {
			x, y := floats(d, n), floats(d, n)
			return []T{x, y, x.Lt(y)}
		}, run: func(in []T) T { return tensor.Where(in[2], in[0], in[1]) }, grad: true},
		{name: "Lt", make: two, run: func(in []T) T { return in[0].Lt(in[1]) }},
		{name: "FloorDivide", make: two, run: func(in []T) T { return in[0].FloorDivide(in[1]) }},
		{name: "Add float16", make: of(tensor.Float16, two), run: func(in []T) T { return in[0].Add(in[1]) }, grad: true},
		{name: "Add int32", make: of(tensor.Int32, two), run: func(in []T) T { return in[0].Add(in[1]) }},
		{name: "Maximum int64", make: of(tensor.Int64, two), run: func(in []T) T { return in[0].Maximum(in[1]) }},
		{name: "To float16", make: vector, run: one(func(t T) T { return t.To(tensor.Float16) }), grad: true},
		{name: "To float32 from int64", make: of(tensor.Int64, vector), run: one(func(t T) T { return t.To(tensor.Float32) })},
		{name: "Clone", make: vector, run: one(T.Clone), grad: true},
		{name: "Contiguous of a transpose", make: square, run: one(func(t T) T { return t.T().Contiguous() })},
		{name: "Sum", make: vector, run: one(func(t T) T { return t.Sum() }), grad: true},
		{name: "Sum of rows", make: square, run: one(func(t T) T { return t.Sum(1) }), grad: true},
		{name: "Sum of columns", make: square, run: one(func(t T) T { return t.Sum(0) }), grad: true},
		{name: "Sum int64", make: of(tensor.Int64, vector), run: one(func(t T) T { return t.Sum() })},
		{name: "Max of rows", make: square, run: one(func(t T) T { return t.Max(1) }), grad: true},
		{name: "Max of columns", make: square, run: one(func(t T) T { return t.Max(0) })},
		{name: "Max int64", make: of(tensor.Int64, vector), run: one(func(t T) T { return t.Max() })},
		{name: "Min", make: vector, run: one(func(t T) T { return t.Min() })},
		{name: "Prod of rows", make: square, run: one(func(t T) T { return t.Prod(1) })},
		{name: "Var of rows", make: square, run: one(func(t T) T { return t.Var(1, 1) }), grad: true},
		{name: "Var of columns", make: square, run: one(func(t T) T { return t.Var(1, 0) })},
		{name: "Norm", make: vector, run: one(func(t T) T { return t.Norm(2) }), grad: true},
		{name: "LogSumExp of rows", make: square, run: one(func(t T) T { return t.LogSumExp(1) }), grad: true},
		{name: "ArgMax of rows", make: square, run: one(func(t T) T { return t.ArgMax(1) })},
		{name: "Softmax", make: square, run: one(func(t T) T { return t.Softmax(1) }), grad: true},
		{name: "LogSoftmax", make: square, run: one(func(t T) T { return t.LogSoftmax(1) }), grad: true},
		{name: "LayerNorm", make: func(d D, n int) []T {
			return []T{floats(d, side(n), side(n)), floats(d, side(n)), floats(d, side(n))}
		}, run: func(in []T) T { return in[0].LayerNorm(in[1], in[2], 1e-5) }, grad: true},
		{name: "CumSum of rows", make: square, run: one(func(t T) T { return t.CumSum(1) }), grad: true},
		{name: "CumSum of columns", make: square, run: one(func(t T) T { return t.CumSum(0) })},
		{name: "Sort", make: square, run: first(func(t T) (T, T) { return t.Sort(1, false) }), beside: 8, grad: true},
		{name: "TopK", make: square, run: first(func(t T) (T, T) { return t.TopK(5, 1, true) }), beside: 8, grad: true},
		{name: "MaxPool2D", make: images, run: one(func(t T) T { return t.MaxPool2D(tensor.Pool{Kernel: [2]int{2, 2}}) }), beside: 8, grad: true},
		{name: "AvgPool2D", make: images, run: one(func(t T) T { return t.AvgPool2D(tensor.Pool{Kernel: [2]int{2, 2}}) }), grad: true},
		{name: "Concat", make: two, run: func(in []T) T { return tensor.Concat(0, in[0], in[1]) }, grad: true},
		{name: "Embedding", make: func(d D, n int) []T { return []T{floats(d, side(n), side(n)), classes(d, side(n), side(n))} },
			run: func(in []T) T { return tensor.Embedding(in[0], in[1]) }, grad: true},
		{name: "CrossEntropy", make: func(d D, n int) []T { return []T{floats(d, side(n), side(n)), classes(d, side(n), side(n))} },
			run: func(in []T) T { return in[0].CrossEntropy(in[1]) }, grad: true},
	}
	return append(cases, productCases()...)
}

// images is a batch of images of 4 channels, n elements or a little less.
func images(d *tensor.Device, n int) []*tensor.Tensor {
	size := min(side(n/4), 32)
	return []*tensor.Tensor{floats(d, n/(4*size*size), 4, size, size)}
}

// productCases are the ops whose arithmetic is what they cost.
func productCases() []opCase {
	type (
		D = *tensor.Device
		T = *tensor.Tensor
	)
	return []opCase{
		{name: "MatMul", make: func(d D, n int) []T {
			return []T{floats(d, side(n), side(n)), floats(d, side(n), side(n))}
		}, run: func(in []T) T { return in[0].MatMul(in[1]) },
			flops: func(in []T) float64 { return 2 * float64(in[0].Len()*in[1].Dim(1)) }, grad: true},
		{name: "Conv2D", make: func(d D, n int) []T { return append(images(d, n), floats(d, 16, 4, 3, 3), floats(d, 16)) },
			run:   func(in []T) T { return in[0].Conv2D(in[1], in[2], tensor.Conv{Padding: [2]int{1, 1}}) },
			flops: func(in []T) float64 { return 2 * float64(in[0].Len()*16*9) }, grad: true},
		{name: "Attention", make: func(d D, n int) []T {
			length := max(side(n/8)/4, 2) // of 8 heads with 16 channels
			heads := func() T { return floats(d, 8, length, 16) }
			return []T{heads(), heads(), heads()}
		}, run: func(in []T) T { return in[0].Attention(in[1], in[2], tensor.AttentionOptions{}) },
			flops: func(in []T) float64 { return 4 * float64(in[0].Len()*in[1].Dim(1)) }, grad: true},
	}
}
