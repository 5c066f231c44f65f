package ref

import (
	"math"

	"tarn/kernels"
)

// norm is a normalisation of x: how its elements form groups, and which of the
// channels, the elements of w and b, each has.
type norm struct {
	x                *kernels.View
	groups, channels int64
	of               func(index []int64) (group, channel int64)
	centred          bool // the mean is taken off
	mean, rstd       []float64
	count            float64 // elements of a group
}

// normOf returns the normalisation of id, without statistics.
func normOf(id kernels.ID, a *kernels.Args, x *kernels.View) *norm {
	n := &norm{x: x, channels: x.Dims[1], centred: true}
	switch id {
	case kernels.LayerNorm, kernels.LayerNormGrad, kernels.RMSNorm, kernels.RMSNormGrad:
		n.groups = x.Dims[0]
		n.of = func(i []int64) (int64, int64) { return i[0], i[1] }
		n.centred = id == kernels.LayerNorm || id == kernels.LayerNormGrad
		n.count = float64(x.Dims[1])
	case kernels.GroupNorm, kernels.GroupNormGrad:
		per := int64(a.Attr.Norm.Groups)
		n.groups = x.Dims[0] * per
		n.of = func(i []int64) (int64, int64) { return i[0]*per + i[1]/(x.Dims[1]/per), i[1] }
		n.count = float64(x.Dims[1] / per * x.Dims[2])
	default:
		n.groups = x.Dims[1]
		n.of = func(i []int64) (int64, int64) { return i[1], i[1] }
		n.count = float64(x.Dims[0] * x.Dims[2])
	}
	n.mean, n.rstd = make([]float64, n.groups), make([]float64, n.groups)
	return n
}

// perGroup returns the sum of f over the elements of each group.
func (n *norm) perGroup(f func(i []int64, group, channel int64) float64) []float64 {
	return n.sums(n.groups, func(g, _ int64) int64 { return g }, f)
}

// perChannel returns the sum of f over the elements of each channel.
func (n *norm) perChannel(f func(i []int64, group, channel int64) float64) []float64 {
	return n.sums(n.channels, func(_, c int64) int64 { return c }, f)
}

func (n *norm) sums(count int64, slot func(g, c int64) int64, f func(i []int64, group, channel int64) float64) []float64 {
	exacts := make([]exact, count)
	each(n.x, func(i []int64) {
		g, c := n.of(i)
		exacts[slot(g, c)].add(f(i, g, c))
	})
	totals := make([]float64, count)
	for i := range exacts {
		totals[i] = exacts[i].value()
	}
	return totals
}

// measure takes the statistics from x; it returns the variances.
func (n *norm) measure(eps float64) []float64 {
	if n.centred {
		for g, total := range n.perGroup(func(i []int64, _, _ int64) float64 { return value(n.x, i...) }) {
			n.mean[g] = total / n.count
		}
	}
	variance := n.perGroup(func(i []int64, g, _ int64) float64 {
		d := value(n.x, i...) - n.mean[g]
		return d * d
	})
	for g := range variance {
		variance[g] /= n.count
		n.rstd[g] = 1 / math.Sqrt(variance[g]+eps)
	}
	return variance
}

// given takes the statistics from operands; with eps the second is a variance.
func (n *norm) given(mean, second *kernels.View, eps float64) {
	if mean != nil {
		copy(n.mean, values(mean))
	}
	copy(n.rstd, values(second))
	if eps >= 0 {
		for g, v := range n.rstd {
			n.rstd[g] = 1 / math.Sqrt(v+eps)
		}
	}
}

// values returns the elements of v in row-major order.
func values(v *kernels.View) (all []float64) {
	each(v, func(i []int64) { all = append(all, value(v, i...)) })
	return all
}

// setAll sets the elements of v in row-major order.
func setAll(v *kernels.View, all []float64) {
	next := 0
	each(v, func(i []int64) {
		set(v, all[next], i...)
		next++
	})
}

// normalised returns element i of x less its group's mean, over its deviation.
func (n *norm) normalised(i []int64) float64 {
	g, _ := n.of(i)
	return (value(n.x, i...) - n.mean[g]) * n.rstd[g]
}

// write sets y to the result, with the affine map that affine holds, if any.
func (n *norm) write(y *kernels.View, affine []kernels.View) {
	each(y, func(i []int64) {
		_, c := n.of(i)
		v := n.normalised(i)
		if len(affine) > 0 {
			v *= value(&affine[0], c)
		}
		if len(affine) > 1 {
			v += value(&affine[1], c)
		}
		set(y, v, i...)
	})
}

func layerNorm(id kernels.ID) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		n := normOf(id, a, &a.In[0])
		n.measure(a.Attr.Norm.Eps)
		n.write(&a.Out[0], a.In[1:])
		if n.centred {
			setAll(&a.Out[1], n.mean)
		}
		setAll(&a.Out[len(a.Out)-1], n.rstd)
		return nil
	}
}

func layerNormGrad(id kernels.ID) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		n := normOf(id, a, &a.In[1])
		affine := a.In[3:]
		if n.centred {
			n.given(&a.In[2], &a.In[3], -1)
			affine = a.In[4:]
		} else {
			n.given(nil, &a.In[2], -1)
		}
		n.gradients(a, affine, true)
		return nil
	}
}

// gradients writes dx, dw and db as far as there are outputs for them. measured
// says that the statistics are x's.
func (n *norm) gradients(a *kernels.Args, affine []kernels.View, measured bool) {
	dy := &a.In[0]
	g := func(i []int64, c int64) float64 {
		if len(affine) == 0 {
			return value(dy, i...)
		}
		return value(dy, i...) * value(&affine[0], c)
	}
	sum := n.perGroup(func(i []int64, _, c int64) float64 { return g(i, c) })
	product := n.perGroup(func(i []int64, _, c int64) float64 { return g(i, c) * n.normalised(i) })
	if !n.centred {
		clear(sum)
	}
	each(&a.Out[0], func(i []int64) {
		group, c := n.of(i)
		d := g(i, c)
		if measured {
			d -= sum[group]/n.count + n.normalised(i)*product[group]/n.count
		}
		set(&a.Out[0], n.rstd[group]*d, i...)
	})
	if len(a.Out) > 1 {
		setAll(&a.Out[1], n.perChannel(func(i []int64, _, _ int64) float64 { return value(dy, i...) * n.normalised(i) }))
	}
	if len(a.Out) > 2 {
		setAll(&a.Out[2], n.perChannel(func(i []int64, _, _ int64) float64 { return value(dy, i...) }))
	}
}

func batchNorm(a *kernels.Args) error {
	n := normOf(kernels.BatchNorm, a, &a.In[0])
	variance := n.measure(a.Attr.Norm.Eps)
	n.write(&a.Out[0], a.In[1:])
	setAll(&a.Out[1], n.mean)
	setAll(&a.Out[2], variance)
	if len(a.Out) > 3 && n.count > 0 {
		m := a.Attr.Norm.Momentum
		mean, unbiased := values(&a.Out[3]), values(&a.Out[4])
		for c := range mean {
			mean[c] = (1-m)*mean[c] + m*n.mean[c]
			unbiased[c] = (1-m)*unbiased[c] + m*variance[c]*(n.count/(n.count-1))
		}
		setAll(&a.Out[3], mean)
		setAll(&a.Out[4], unbiased)
	}
	return nil
}

func batchNormInfer(a *kernels.Args) error {
	n := normOf(kernels.BatchNormInfer, a, &a.In[0])
	n.given(&a.In[1], &a.In[2], a.Attr.Norm.Eps)
	n.write(&a.Out[0], a.In[3:])
	return nil
}

func batchNormGrad(a *kernels.Args) error {
	n := normOf(kernels.BatchNormGrad, a, &a.In[1])
	n.given(&a.In[2], &a.In[3], a.Attr.Norm.Eps)
	n.gradients(a, a.In[4:], !a.Attr.Norm.Given)
	return nil
}
