package kerneltest

import (
	"math"

	"tarn/kernels"
)

var normFamily = family{name: "norm",
	ids: []kernels.ID{
		kernels.LayerNorm, kernels.LayerNormGrad, kernels.RMSNorm, kernels.RMSNormGrad, kernels.GroupNorm, kernels.GroupNormGrad,
		kernels.BatchNorm, kernels.BatchNormInfer, kernels.BatchNormGrad},
	cases: (*suite).norm, sample: (*suite).sampleNorm, decode: (*suite).decodeNorm, large: (*suite).largeNorm,
	scales: (*call).normScales}

func (s *suite) sampleNorm(bool) *call {
	dims := []int64{4, 5}
	if s.id > kernels.RMSNormGrad {
		dims = []int64{4, 6, 5}
	}
	return s.normCall(norm{dims: dims, groups: 2, affine: 2, full: true}, uniform(s.rand))
}

func (s *suite) decodeNorm(src *source, values generator) *call {
	dims := [][]int64{{5, 17}, {1, 1}, {33, 65}, {0, 6}, {3, 0}}[src.below(5)]
	if s.id > kernels.RMSNormGrad {
		dims = [][]int64{{3, 6, 5}, {1, 2, 1}, {17, 6, 1}, {2, 6, 0}, {2, 12, 65}}[src.below(5)]
	}
	return s.normCall(norm{dims: dims, groups: 1 + src.below(2), affine: src.below(3), full: src.below(2) == 1, given: src.below(2) == 1,
		x: src.layout(false), y: src.layout(true), w: src.layout(false)}, values)
}

func (s *suite) largeNorm() (all []*call) {
	for _, n := range s.largeNorms() {
		all = append(all, s.normCall(n, uniform(s.rand)))
	}
	return all
}

// norm is the form of a call of a normalisation.
type norm struct {
	dims    []int64 // [N,C] for LayerNorm and RMSNorm, else [N,C,S]
	groups  int
	affine  int  // w and b, or w, or none
	full    bool // with all outputs that may be left out
	given   bool
	x, y, w layout
}

// isGrad reports whether id is the gradient of a normalisation.
func isGrad(id kernels.ID) bool {
	return id == kernels.LayerNormGrad || id == kernels.RMSNormGrad || id == kernels.GroupNormGrad || id == kernels.BatchNormGrad
}

func (s *suite) normCall(n norm, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Norm: kernels.NormAttr{Eps: 1e-5}}}
	stats := []int64{n.dims[0]}
	switch s.id {
	case kernels.GroupNorm, kernels.GroupNormGrad:
		c.attr.Norm.Groups = n.groups
		stats = []int64{n.dims[0], int64(n.groups)}
	case kernels.BatchNorm, kernels.BatchNormInfer, kernels.BatchNormGrad:
		c.attr.Norm.Momentum, c.attr.Norm.Given = 0.1, n.given
		stats = []int64{n.dims[1]}
	}
	channels := []int64{n.dims[1]}
	output := func(dims []int64, l layout) { c.out = append(c.out, place(s.rand, s.dtype, dims, l)) }
	input := func(dims []int64, l layout, g generator) {
		c.in = append(c.in, place(s.rand, s.dtype, dims, l).fill(g))
	}
	statistic := func(l layout, g generator) operand { return place(s.rand, s.dtype.Statistic(), stats, l).fill(g) }
	positive := between(s.rand, 0.5, 2)
	output(n.dims, n.y)
	input(n.dims, n.x, g)
	switch s.id {
	case kernels.LayerNorm, kernels.GroupNorm, kernels.BatchNorm:
		c.out = append(c.out, place(s.rand, s.dtype.Statistic(), stats, s.pick(writable)))
		c.out = append(c.out, place(s.rand, s.dtype.Statistic(), stats, s.pick(writable)))
	case kernels.RMSNorm:
		c.out = append(c.out, place(s.rand, s.dtype.Statistic(), stats, s.pick(writable)))
		n.affine = min(n.affine, 1)
	case kernels.BatchNormInfer:
		c.in = append(c.in, statistic(n.w, uniform(s.rand)))
		c.in = append(c.in, statistic(n.w, positive))
	case kernels.RMSNormGrad:
		input(n.dims, n.x, g)
		c.in = append(c.in, statistic(n.w, positive))
	default:
		input(n.dims, n.x, g)
		c.in = append(c.in, statistic(n.w, uniform(s.rand)))
		c.in = append(c.in, statistic(n.w, positive))
	}
	if isGrad(s.id) {
		n.affine = min(n.affine, 1)
		if n.full || s.id == kernels.BatchNormGrad {
			output(channels, s.pick(writable))
		}
		if (n.full || s.id == kernels.BatchNormGrad) && s.id != kernels.RMSNormGrad {
			output(channels, s.pick(writable))
		}
	}
	if s.id == kernels.BatchNorm && n.full {
		c.out = append(c.out, statistic(s.pick(writable), uniform(s.rand)), statistic(s.pick(writable), positive))
	}
	for range n.affine {
		input(channels, n.w, uniform(s.rand))
	}
	return c
}

// normDims are the dims of the cases of s.id, with numbers of groups for them.
func (s *suite) normDims() (all []norm) {
	add := func(groups int, dims ...int64) { all = append(all, norm{dims: dims, groups: groups}) }
	switch s.id {
	case kernels.LayerNorm, kernels.LayerNormGrad, kernels.RMSNorm, kernels.RMSNormGrad:
		for _, n := range sizes {
			add(1, 5, n)
			add(1, n, 12)
		}
		add(1, 40, 300)
		add(1, 3, 1500)
	default:
		for _, n := range sizes {
			add(2, 3, 4, n)
			add(1, n, 3, 5)
			add(3, 2, 3*min(n, 33), 4)
		}
		add(1, 2, 33, 1)
		add(33, 2, 33, 1)
		add(4, 40, 8, 17)
		add(2, 3, 4, 1100)
		add(2, 700, 6, 1)
	}
	return all
}

func (s *suite) norm() {
	values := uniform(s.rand)
	for _, n := range s.normDims() {
		for form := range 12 {
			n.affine, n.full, n.given = form%3, form%2 == 1, form > 5
			n.x, n.y, n.w = dense, dense, dense
			s.check(s.normCall(n, values))
			n.x, n.y, n.w = s.pick(readable), s.pick(writable), s.pick(readable)
			s.check(s.normCall(n, values))
			s.check(s.normCall(n, unruly(s.rand)))
			n.x, n.y = dense, dense
			s.check(s.normCall(n, unruly(s.rand)))
		}
		n.affine, n.full = 2, true
		s.check(s.normCall(n, between(s.rand, 100, 101))) // a mean far from 0
		s.check(s.normCall(n, func(d kernels.DType, _ int) uint64 { return toBits(d, 3.7) }))
	}
	if s.id == kernels.BatchNorm { // whose sums are made in parts: there are means of infinities
		s.always(s.normCall(norm{dims: []int64{70, 6, 1}, full: true}, func(d kernels.DType, _ int) uint64 { return toBits(d, math.Inf(-1)) }))
	}
	for _, n := range s.largeNorms() {
		s.check(s.normCall(n, values))
	}
}

// largeNorms are forms that several threads share.
func (s *suite) largeNorms() []norm {
	if s.id <= kernels.RMSNormGrad {
		return []norm{
			{dims: []int64{1203, 130}, affine: 2, full: true}, {dims: []int64{61, 2003}, affine: 1, full: true},
			{dims: []int64{301, 403}, x: writable[2], y: writable[2]},
		}
	}
	return []norm{
		{dims: []int64{13, 12, 1001}, groups: 3, affine: 2, full: true}, {dims: []int64{901, 66, 3}, groups: 11, affine: 2, full: true},
		{dims: []int64{2003, 70, 1}, groups: 10, full: true},
	}
}

// grouping says of each element of x which group and which channel it is of,
// and which input it is.
func (c *call) grouping() (x operand, group, channel []int) {
	x = c.in[0]
	if isGrad(c.id) {
		x = c.in[1]
	}
	d := &x.view.Dims
	size := int64(1)
	if x.view.Rank == 3 {
		size = d[2]
	}
	for i := range x.view.Len() {
		n, k := i/size/d[1], i/size%d[1]
		g := n
		switch c.id {
		case kernels.GroupNorm, kernels.GroupNormGrad:
			per := int64(c.attr.Norm.Groups)
			g = n*per + k/(d[1]/per)
		case kernels.BatchNorm, kernels.BatchNormInfer, kernels.BatchNormGrad:
			g = k
		}
		group, channel = append(group, int(g)), append(channel, int(k))
	}
	return x, group, channel
}

// normScales: x less the mean has the rounding error of the larger of the two,
// and so have the results, times rstd; a variance's error counts as far as it
// is not small beside it.
func (c *call) normScales(want result) scales {
	x, group, channel := c.grouping()
	values := x.numbers()
	s := c.values(want)
	for _, list := range s[1:] {
		clear(list)
	}
	mean, rstd := c.statistics(want)
	size := make([]float64, len(values)) // of the normalised elements
	count := make([]float64, len(rstd))
	top := make([]float64, len(rstd))
	for i, v := range values {
		g := group[i]
		count[g]++
		top[g] = max(top[g], math.Abs(v)+math.Abs(mean[g]))
	}
	for i := range values {
		g := group[i]
		if isGrad(c.id) || c.id == kernels.BatchNormInfer { // others in the group do not count
			size[i] = (math.Abs(values[i]) + math.Abs(mean[g])) * rstd[g]
			continue
		}
		size[i] = top[g] * rstd[g] * (1 + top[g]*top[g]*rstd[g]*rstd[g]*0x1p-20)
	}
	if isGrad(c.id) {
		c.gradScales(s, group, channel, size, rstd, count)
		return s
	}
	affine := c.in[1:]
	if c.id == kernels.BatchNormInfer {
		affine = c.in[3:]
	}
	for i := range values {
		step := rstd[group[i]] * smallest(x.view.DType) / epsilon(x.view.DType) // what a denormal is rounded by
		s[0][i] = (size[i]+step)*weightOf(affine, 0, channel[i], 1) + weightOf(affine, 1, channel[i], 0)
	}
	for k := 1; k < len(s); k++ {
		old := c.out[k].numbers()
		for g := range s[k] {
			s[k][g] = top[g] + rstd[g]*(1+top[g]*top[g]*rstd[g]*rstd[g]*0x1p-20)
			if c.id == kernels.BatchNorm && k%2 == 0 {
				s[k][g] = top[g] * top[g]
			}
			if k > 2 {
				s[k][g] += math.Abs(old[g])
			}
		}
	}
	return s
}

// statistics returns mean and rstd of the groups: what the op made, or what it
// was given.
func (c *call) statistics(want result) (mean, rstd []float64) {
	outs := c.values(want)
	inverse := func(variance []float64) []float64 {
		for i, v := range variance {
			variance[i] = 1 / math.Sqrt(v+c.attr.Norm.Eps)
		}
		return variance
	}
	switch c.id {
	case kernels.LayerNorm, kernels.GroupNorm:
		return outs[1], outs[2]
	case kernels.RMSNorm:
		return make([]float64, len(outs[1])), outs[1]
	case kernels.RMSNormGrad:
		rstd = c.in[2].numbers()
		return make([]float64, len(rstd)), rstd
	case kernels.BatchNorm:
		return outs[1], inverse(outs[2])
	case kernels.BatchNormInfer:
		return c.in[1].numbers(), inverse(c.in[2].numbers())
	case kernels.BatchNormGrad:
		return c.in[2].numbers(), inverse(c.in[3].numbers())
	}
	return c.in[2].numbers(), c.in[3].numbers()
}

// normTerms returns how many elements a group or, for a gradient, a channel has.
func (c *call) normTerms() int64 {
	x := &c.in[0].view
	switch c.id {
	case kernels.LayerNorm, kernels.RMSNorm:
		return x.Dims[1]
	case kernels.GroupNorm:
		return x.Dims[1] * x.Dims[2]
	}
	return x.Len() / max(1, min(x.Dims[0], x.Dims[1]))
}

// weightOf returns the size of element i of operand k of list, missing if there
// is none.
func weightOf(list []operand, k, i int, missing float64) float64 {
	if k >= len(list) {
		return missing
	}
	o := list[k]
	off := int64(o.view.Ptr) + int64(i)*o.view.Strides[0]*o.view.DType.Size()
	return math.Abs(toFloat(o.view.DType, get(o.mem.initial()[off:], o.view.DType)))
}

func (c *call) gradScales(s scales, group, channel []int, size, rstd, count []float64) {
	affine := c.in[3:]
	if c.id != kernels.RMSNormGrad {
		affine = c.in[4:]
	}
	dy := c.in[0].numbers()
	sum, product := make([]float64, len(rstd)), make([]float64, len(rstd))
	for i, d := range dy {
		d = math.Abs(d)
		if len(s) > 1 {
			s[1][channel[i]] += d * size[i]
		}
		if len(s) > 2 {
			s[2][channel[i]] += d
		}
		dy[i] = d * weightOf(affine, 0, channel[i], 1)
		sum[group[i]] += dy[i]
		product[group[i]] += dy[i] * size[i]
	}
	for i, d := range dy {
		g := group[i]
		if !c.attr.Norm.Given {
			d += sum[g]/count[g] + size[i]*product[g]/count[g]
		}
		s[0][i] = rstd[g] * d
	}
}
