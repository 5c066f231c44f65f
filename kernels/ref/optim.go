package ref

import (
	"math"

	"tarn/kernels"
)

func sgdStep(a *kernels.Args) error {
	h := a.Attr.SGD
	for n := range a.In {
		grad := &a.In[n]
		param, buffer := &a.Out[n], (*kernels.View)(nil)
		if h.Momentum != 0 {
			param, buffer = &a.Out[2*n], &a.Out[2*n+1]
		}
		each(param, func(i []int64) {
			p, g := value(param, i...), value(grad, i...)
			if h.WeightDecay != 0 {
				g += h.WeightDecay * p
			}
			if buffer != nil {
				b := g
				if !h.First {
					b = h.Momentum*value(buffer, i...) + (1-h.Dampening)*g
				}
				set(buffer, b, i...)
				if h.Nesterov {
					g += h.Momentum * b
				} else {
					g = b
				}
			}
			set(param, p-h.LR*g, i...)
		})
	}
	return nil
}

func adamWStep(a *kernels.Args) error {
	h := a.Attr.AdamW
	step := float64(h.Step)
	if h.Step == 0 {
		step = value(&a.In[len(a.In)-1])
	}
	correction1 := -math.Expm1(step * math.Log(h.Beta1)) // 1-beta^step, to the last bits
	correction2 := -math.Expm1(step * math.Log(h.Beta2))
	for n := range len(a.Out) / 3 {
		grad := &a.In[n]
		param, first, second := &a.Out[3*n], &a.Out[3*n+1], &a.Out[3*n+2]
		each(param, func(i []int64) {
			p, g := value(param, i...), value(grad, i...)
			m := h.Beta1*value(first, i...) + (1-h.Beta1)*g
			v := h.Beta2*value(second, i...) + (1-h.Beta2)*g*g
			p -= h.LR * h.WeightDecay * p
			p -= h.LR * (m / correction1) / (math.Sqrt(v/correction2) + h.Eps)
			set(param, p, i...)
			set(first, m, i...)
			set(second, v, i...)
		})
	}
	return nil
}
