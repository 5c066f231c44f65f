package kerneltest

import (
	"math"

	"tarn/kernels"
)

// numbers returns the elements of o before the call, in row-major order.
func (o operand) numbers() []float64 {
	all := make([]float64, o.view.Len())
	offsets(&o.view, func(i int, off int64) { all[i] = toFloat(o.view.DType, get(o.mem.initial()[off:], o.view.DType)) })
	return all
}

// underflow is a weight that may be taken as 0: an epsilon of float32 of it is
// below the smallest normal one.
const underflow = 0x1p-103

// attentionScales returns the sizes of what is added up for the results of c,
// Attention or its gradient. A weight p is off by epsilons of its score's terms.
func attentionScales(c *call, want result) scales {
	in := c.in
	if c.id == kernels.AttentionGrad {
		in = c.in[1:]
	}
	dims := in[0].view.Dims
	h, l, d := dims[1], dims[2], dims[3]
	g, n, e := in[1].view.Dims[1], in[1].view.Dims[2], in[2].view.Dims[3]
	q, k, v := in[0].numbers(), in[1].numbers(), in[2].numbers()
	var do, o, logsumexp, mask []float64
	out := c.values(want)
	s := make(scales, len(out))
	for i := range out {
		s[i] = make([]float64, len(out[i]))
	}
	rest := in[3:]
	if c.id == kernels.Attention {
		logsumexp = out[1]
	} else {
		do, o, logsumexp, rest = c.in[0].numbers(), in[3].numbers(), in[4].numbers(), in[5:]
	}
	if len(rest) > 0 {
		mask = rest[0].numbers()
	}
	scale := c.attr.Attention.Scale
	at := func(x []float64, row, width int64) []float64 { return x[row*width : (row+1)*width] }
	for row := range dims[0] * h * l {
		group := row/(h*l)*g + row/l%h/max(h/max(g, 1), 1)
		p, size, least := make([]float64, n), make([]float64, n), make([]float64, n)
		mean := 0.0
		for j := range n {
			x, abs := 0.0, 0.0
			for i, y := range at(q, row, d) {
				z := y * at(k, group*n+j, d)[i]
				x, abs = x+scale*z, abs+math.Abs(scale*z)
			}
			switch {
			case c.attr.Attention.Causal && j > row%l, mask != nil && rest[0].view.DType == kernels.Bool && at(mask, row, n)[j] == 0:
				continue
			case mask != nil && rest[0].view.DType != kernels.Bool:
				x, abs = x+at(mask, row, n)[j], abs+math.Abs(at(mask, row, n)[j])
			}
			if math.IsInf(x, -1) || math.IsInf(logsumexp[row], -1) {
				continue
			}
			p[j], size[j] = math.Exp(x-logsumexp[row]), 1+abs+math.Abs(logsumexp[row])
			mean += p[j] * size[j]
			least[j] = underflow
		}
		if c.id == kernels.Attention {
			s[1][row] = 1 + mean
			for j := range n {
				for i, y := range at(v, group*n+j, e) {
					at(s[0], row, e)[i] += (p[j]*(size[j]+mean) + least[j]) * math.Abs(y)
				}
			}
			continue
		}
		for j := range n {
			dp := 0.0
			for i, y := range at(do, row, e) {
				dp += math.Abs(y * at(v, group*n+j, e)[i])
				dp += math.Abs(y * at(o, row, e)[i])
				at(s[2], group*n+j, e)[i] += (p[j]*size[j] + least[j]) * math.Abs(y)
			}
			ds := math.Abs(scale) * (p[j]*size[j] + least[j]) * dp
			for i := range d {
				at(s[0], row, d)[i] += ds * math.Abs(at(k, group*n+j, d)[i])
				at(s[1], group*n+j, d)[i] += ds * math.Abs(at(q, row, d)[i])
			}
		}
	}
	return s
}
