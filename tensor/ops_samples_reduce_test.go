package tensor_test

import (
	"math"

	"tarn/tensor"
)

// reductions tries f over dims of several shapes. Where it has no value for
// nothing, the shapes without elements are left out.
func reductions(f func(t T, dims ...int) T, in func(shape ...int) opInput, ofNothing bool) []opSample {
	var all []opSample
	for _, c := range []struct{ shape, dims []int }{
		{nil, nil}, {[]int{7}, nil}, {[]int{3, 5}, nil}, {[]int{3, 5}, []int{0}}, {[]int{3, 5}, []int{-1}}, {[]int{2, 3, 4}, []int{0, 2}},
		{[]int{2, 3, 4}, []int{1}}, {[]int{1, 3, 1}, []int{0}}, {[]int{0}, nil}, {[]int{3, 0}, []int{1}}, {[]int{0, 3}, []int{1}},
	} {
		if !ofNothing && tensor.Shape(c.shape).Len() == 0 {
			continue
		}
		all = append(all, opSample{in: []opInput{in(c.shape...)}, f: func(in []T) T { return f(in[0], c.dims...) }})
	}
	return all
}

// scans tries f along each dim of several shapes.
func scans(f func(t T, dim int) T, in func(shape ...int) opInput) []opSample {
	var all []opSample
	for _, c := range []struct {
		shape []int
		dim   int
	}{{[]int{7}, 0}, {[]int{3, 5}, 0}, {[]int{3, 5}, -1}, {[]int{2, 3, 4}, 1}, {[]int{1, 3}, 0}, {[]int{0, 3}, 1}} {
		all = append(all, opSample{in: []opInput{in(c.shape...)}, f: func(in []T) T { return f(in[0], c.dim) }})
	}
	return all
}

// distinct draws numbers of which no two are as near as differences reach; for
// integers ties are as welcome as any.
func distinct(shape ...int) opInput {
	in := of(shape...)
	in.draw = normal
	return in
}

// values and indices choose one of two results.
func values(f func(t T, dim int) (values, indices T)) func(t T, dim int) T {
	return func(t T, dim int) T { v, _ := f(t, dim); return v }
}

func indices(f func(t T, dim int) (values, indices T)) func(t T, dim int) T {
	return func(t T, dim int) T { _, i := f(t, dim); return i }
}

// spread makes different numbers of equal ones: at 0 the deviation has a kink.
func spread(t T) T {
	ramp := make([]float64, t.Len())
	for i := range ramp {
		ramp[i] = float64(1 + i%5)
	}
	return t.Mul(tensor.FromSlice(beside(t), ramp, t.Shape()...).To(t.DType()))
}

func reductionSamples() map[string][]opSample {
	norm := func(p float64) []opSample {
		return reductions(func(t T, dims ...int) T { return t.Norm(p, dims...) }, of, p > 0 && !math.IsInf(p, 0))
	}
	sort := func(descending bool) func(t T, dim int) (T, T) {
		return func(t T, dim int) (T, T) { return t.Sort(dim, descending) }
	}
	top := func(t T, dim int) (T, T) { return t.TopK(min(2, t.Dim(dim)), dim, true) }
	least := func(t T, dim int) (T, T) { return t.TopK(min(2, t.Dim(dim)), dim, false) }
	some := func(samples []opSample) []opSample { // that have something to choose
		var all []opSample
		for _, s := range samples {
			if tensor.Shape(s.in[0].shape).Len() > 0 {
				all = append(all, s)
			}
		}
		return all
	}
	return map[string][]opSample{
		"Sum": append(reductions(T.Sum, of, true), reductions(T.SumKeep, of, true)...), "Mean": reductions(T.Mean, of, true),
		"Prod": reductions(T.Prod, of, true), "Any": reductions(T.Any, of, true), "All": reductions(T.All, of, true),
		"Max": append(reductions(T.Max, distinct, false), reductions(T.MaxKeep, distinct, false)...), "Min": reductions(T.Min, distinct, false),
		"Var":       reductions(func(t T, dims ...int) T { return t.Var(0, dims...) }, of, true),
		"Std":       reductions(func(t T, dims ...int) T { return spread(t).Std(0, dims...) }, of, false),
		"LogSumExp": reductions(T.LogSumExp, of, true),
		"Norm":      append(append(append(norm(2), norm(1)...), norm(3)...), norm(math.Inf(1))...),
		"ArgMax":    some(scans(T.ArgMax, distinct)), "ArgMin": some(scans(T.ArgMin, distinct)),
		"MaxWithIndices": append(some(scans(values(T.MaxWithIndices), distinct)), constant(some(scans(indices(T.MaxWithIndices), distinct)))...),
		"MinWithIndices": append(some(scans(values(T.MinWithIndices), distinct)), constant(some(scans(indices(T.MinWithIndices), distinct)))...),
		"CumSum":         scans(T.CumSum, of), "CumProd": scans(T.CumProd, of),
		"Sort":    append(scans(values(sort(false)), distinct), constant(scans(indices(sort(true)), distinct))...),
		"ArgSort": scans(func(t T, dim int) T { return t.ArgSort(dim, false) }, distinct),
		"TopK":    append(scans(values(top), distinct), constant(scans(indices(least), distinct))...),
	}
}
