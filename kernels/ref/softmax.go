package ref

import (
	"math"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// rows calls f with the elements of each input along the axis, for all places of
// the other dims, and sets those of the output to what it returns.
func rows(a *kernels.Args, f func(in [][]float64) []float64) error {
	out, axis := &a.Out[0], a.Attr.Axis
	first := *out
	first.Dims[axis] = min(first.Dims[axis], 1)
	each(&first, func(i []int64) {
		along := func(g func(j int)) {
			for j := range out.Dims[axis] {
				i[axis] = j
				g(int(j))
			}
			i[axis] = 0
		}
		in := make([][]float64, len(a.In))
		for k := range a.In {
			along(func(int) { in[k] = append(in[k], value(&a.In[k], i...)) })
		}
		row := f(in)
		along(func(j int) { set(out, row[j], i...) })
	})
	return nil
}

// logSum returns the largest x, and the logarithm of the sum of exp(x-m).
func logSum(x []float64) (m, log float64) {
	m = math.Inf(-1)
	for _, v := range x {
		m = scalar.Larger(m, v)
	}
	var sum exact
	for _, v := range x {
		sum.add(math.Exp(v - m))
	}
	return m, math.Log(sum.value())
}

func softmax(a *kernels.Args) error {
	return rows(a, func(in [][]float64) []float64 {
		m, log := logSum(in[0])
		for j, v := range in[0] {
			in[0][j] = math.Exp(v - m - log)
		}
		return in[0]
	})
}

func logSoftmax(a *kernels.Args) error {
	return rows(a, func(in [][]float64) []float64 {
		m, log := logSum(in[0])
		for j, v := range in[0] {
			in[0][j] = v - m - log
		}
		return in[0]
	})
}

func softmaxGrad(a *kernels.Args) error {
	return rows(a, func(in [][]float64) []float64 {
		dy, y := in[0], in[1]
		var sum exact
		for j := range y {
			sum.add(dy[j] * y[j])
		}
		total := sum.value()
		for j := range y {
			dy[j] = y[j] * (dy[j] - total)
		}
		return dy
	})
}

func logSoftmaxGrad(a *kernels.Args) error {
	return rows(a, func(in [][]float64) []float64 {
		dy, y := in[0], in[1]
		var sum exact
		for j := range y {
			sum.add(dy[j])
		}
		total := sum.value()
		for j := range y {
			dy[j] -= math.Exp(y[j]) * total
		}
		return dy
	})
}
