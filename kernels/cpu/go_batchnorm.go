package cpu

import (
	"math"

	"tarn/kernels"
)

// channels returns the body of id, a batch normalisation, of which channel does one
// channel at a time. In[x] is x.
func channels[T float](id kernels.ID, x int, channel func(a *kernels.Args, c int64)) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		v := &a.In[x]
		if batchNormDoneInC(id, a, v, inC[T](v.Len())) {
			return nil
		}
		grain := max(serialBelow/4/max(v.Dims[0]*v.Dims[2], 1), 1)
		if chunks(v.Dims[1], grain) == 1 {
			for c := range v.Dims[1] {
				channel(a, c)
			}
			return nil
		}
		parallel(v.Dims[1], grain, func(lo, hi int64) {
			for c := lo; c < hi; c++ {
				channel(a, c)
			}
		})
		return nil
	}
}

// batchNormDoneInC does id if C can: where the elements of each plane of x lie side
// by side or, where it has one, its channels do, and the vectors are dense.
func batchNormDoneInC(id kernels.ID, a *kernels.Args, x *kernels.View, c *fast) bool {
	if c == nil || !vectors(a.Out[1:]) {
		return false
	}
	big := a.In[:1]
	if id == kernels.BatchNormGrad {
		big = a.In[:2]
	}
	if !vectors(a.In[len(big):]) {
		return false
	}
	columns := x.Dims[2] == 1
	for _, views := range [][]kernels.View{big, a.Out[:1]} {
		for i := range views {
			s := &views[i].Strides
			if columns && s[1] != 1 && x.Dims[1] > 1 || !columns && s[2] != 1 {
				return false
			}
		}
	}
	c.batchNorm(id, a, columns)
	if id == kernels.BatchNorm {
		for k := range x.Dims[1] {
			runStatistics[float32](a, k, element1[float32](&a.Out[1], k), element1[float32](&a.Out[2], k))
		}
	}
	return true
}

// runStatistics moves the running mean and variance of channel c on.
func runStatistics[T float](a *kernels.Args, c int64, mean, variance float64) {
	count := float64(a.In[0].Dims[0] * a.In[0].Dims[2])
	if len(a.Out) <= 3 || count == 0 {
		return
	}
	take := a.Attr.Norm.Momentum
	set := func(i int, value float64) { *at[T](a.Out[i].Ptr, c, a.Out[i].Strides[0]*sizeOf[T]()) = T(value) }
	set(3, (1-take)*element1[T](&a.Out[3], c)+take*mean)
	set(4, (1-take)*element1[T](&a.Out[4], c)+take*variance*(count/(count-1)))
}

// plane returns where channel c of example n begins in v [N,C,S], and the bytes
// between its elements.
func plane(v *kernels.View, n, c int64) (addr uintptr, step int64) {
	size := v.DType.Size()
	return v.Ptr + uintptr((n*v.Strides[0]+c*v.Strides[1])*size), v.Strides[2] * size
}

func batchNormChannel[T float](a *kernels.Args, c int64) {
	x := &a.In[0]
	count := float64(x.Dims[0] * x.Dims[2])
	var m moments
	for n := range x.Dims[0] {
		from, step := plane(x, n, c)
		m.mean += sumRun[T](from, x.Dims[2], step)
	}
	m.mean /= count
	for n := range x.Dims[0] {
		from, step := plane(x, n, c)
		for j := range x.Dims[2] {
			m.add(float64(*at[T](from, j, step)))
		}
	}
	mean, variance := m.result(count)
	set := func(i int, value float64) { *at[T](a.Out[i].Ptr, c, a.Out[i].Strides[0]*sizeOf[T]()) = T(value) }
	set(1, mean)
	set(2, variance)
	runStatistics[T](a, c, mean, variance)
	applyChannel[T](a, c, mean, variance, a.In[1:])
}

func batchNormInferChannel[T float](a *kernels.Args, c int64) {
	applyChannel[T](a, c, element1[T](&a.In[1], c), element1[T](&a.In[2], c), a.In[3:])
}

// applyChannel writes the result of channel c.
func applyChannel[T float](a *kernels.Args, c int64, mean, variance float64, affine []kernels.View) {
	x, y := &a.In[0], &a.Out[0]
	rstd, w, b := 1/math.Sqrt(variance+a.Attr.Norm.Eps), factor[T](affine, c), term[T](affine, c)
	for n := range x.Dims[0] {
		from, fromStep := plane(x, n, c)
		to, toStep := plane(y, n, c)
		for j := range x.Dims[2] {
			*at[T](to, j, toStep) = T((float64(*at[T](from, j, fromStep))-mean)*rstd*w + b)
		}
	}
}

func batchNormGradChannel[T float](a *kernels.Args, c int64) {
	dy, x, dx := &a.In[0], &a.In[1], &a.Out[0]
	mean, rstd := element1[T](&a.In[2], c), 1/math.Sqrt(element1[T](&a.In[3], c)+a.Attr.Norm.Eps)
	w := factor[T](a.In[4:], c)
	var sum, product blocked
	for n := range x.Dims[0] {
		p, pStep := plane(dy, n, c)
		q, qStep := plane(x, n, c)
		for j := range x.Dims[2] {
			d := float64(*at[T](p, j, pStep))
			sum.add(d)
			product.add(d * (float64(*at[T](q, j, qStep)) - mean) * rstd)
		}
	}
	*at[T](a.Out[1].Ptr, c, a.Out[1].Strides[0]*sizeOf[T]()) = T(product.value())
	*at[T](a.Out[2].Ptr, c, a.Out[2].Strides[0]*sizeOf[T]()) = T(sum.value())
	count := float64(x.Dims[0] * x.Dims[2])
	for n := range x.Dims[0] {
		p, pStep := plane(dy, n, c)
		q, qStep := plane(x, n, c)
		to, step := plane(dx, n, c)
		for j := range x.Dims[2] {
			d := float64(*at[T](p, j, pStep))
			if !a.Attr.Norm.Given {
				d -= sum.value()/count + (float64(*at[T](q, j, qStep))-mean)*rstd*product.value()/count
			}
			*at[T](to, j, step) = T(w * rstd * d)
		}
	}
}
