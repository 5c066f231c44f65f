package kerneltest

import (
	"math"

	"tarn/kernels"
)

var optimiserFamily = family{name: "optimiser", ids: []kernels.ID{kernels.SGDStep, kernels.AdamWStep}, cases: (*suite).optimiser,
	sample: (*suite).sampleOptimiser, decode: (*suite).decodeOptimiser, large: (*suite).largeOptimiser, scales: summedScales}

// sampleOptimiser has the first or the last hyperparameters: AdamW's last have
// the step in memory.
func (s *suite) sampleOptimiser(last bool) *call {
	attrs := s.hyperparameters()
	attr := attrs[0]
	if last {
		attr = attrs[len(attrs)-1]
	}
	return s.stepCall(attr, [][]int64{{4, 5}, {7}}, func() layout { return dense })
}

func (s *suite) decodeOptimiser(src *source, _ generator) *call {
	attrs := s.hyperparameters()
	attr := attrs[src.below(len(attrs))]
	params := [][]int64{src.dims(), src.dims()}
	return s.stepCall(attr, params, func() layout { return src.layout(true) })
}

func (s *suite) largeOptimiser() []*call {
	attrs := s.hyperparameters()
	params := [][]int64{{70_001}, {3}, {257, 303}}
	return []*call{
		s.stepCall(attrs[0], params, func() layout { return dense }),
		s.stepCall(attrs[len(attrs)-1], params, func() layout { return s.pick(writable) }),
	}
}

// state returns how many outputs each parameter has beside itself.
func state(id kernels.ID, attr kernels.Attr) int {
	switch {
	case id == kernels.AdamWStep:
		return 2
	case attr.SGD.Momentum != 0:
		return 1
	}
	return 0
}

// stepCall returns an optimiser step over parameters of the given dims.
func (s *suite) stepCall(attr kernels.Attr, params [][]int64, pick func() layout) *call {
	c := &call{id: s.id, attr: attr}
	values := uniform(s.rand)
	for _, dims := range params {
		c.out = append(c.out, place(s.rand, s.dtype, dims, pick()).fill(values))
		for i := range state(s.id, attr) {
			o := place(s.rand, s.dtype, dims, pick())
			switch {
			case i == 1: // second moments are never negative
				o.fill(between(s.rand, 0, 4))
			case !attr.SGD.First: // else poison, which must not be read
				o.fill(values)
			}
			c.out = append(c.out, o)
		}
		c.in = append(c.in, place(s.rand, s.dtype, dims, pick()).fill(values))
	}
	if c.countsInMemory() {
		steps := []int64{1, 2, 7, 400, 1_000_000}
		c.in = append(c.in, place(s.rand, kernels.Int64, nil, dense))
		c.setStep(steps[s.rand.IntN(len(steps))])
	}
	return c
}

// countsInMemory reports whether the last input holds the number of the step.
func (c *call) countsInMemory() bool { return c.id == kernels.AdamWStep && c.attr.AdamW.Step == 0 }

// setStep makes n the number of the step, in memory or as a scalar.
func (c *call) setStep(n int64) {
	if c.countsInMemory() {
		c.in[len(c.in)-1].fill(func(kernels.DType, int) uint64 { return uint64(n) })
		return
	}
	c.attr.AdamW.Step = n
}

// hyperparameters returns the settings to try.
func (s *suite) hyperparameters() []kernels.Attr {
	var all []kernels.Attr
	if s.id == kernels.AdamWStep {
		for _, a := range []kernels.AdamWAttr{
			{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01, Step: 1},
			{LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 7},
			{LR: 0.1, Beta1: 0, Beta2: 0, Eps: 1e-3, WeightDecay: 0.5, Step: 2},
			{LR: 0.01, Beta1: 0.5, Beta2: 0.9, Eps: 1e-8, WeightDecay: 0.1, Step: 1_000_000},
			{LR: 0.1, Beta1: 0, Beta2: 0, Eps: 1e-3, WeightDecay: 0.5}, // these have the step in memory
			{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.1},
		} {
			all = append(all, kernels.Attr{AdamW: a})
		}
		return all
	}
	for _, momentum := range []float64{0, 0.9} {
		for form := range 16 {
			a := kernels.SGDAttr{LR: 0.1, Momentum: momentum, Nesterov: form&1 != 0, First: form&2 != 0 && momentum != 0}
			if form&4 != 0 {
				a.Dampening = 0.3
			}
			if form&8 != 0 {
				a.WeightDecay = 0.01
			}
			all = append(all, kernels.Attr{SGD: a})
		}
	}
	return all
}

func (s *suite) optimiser() {
	for _, attr := range s.hyperparameters() {
		for _, n := range sizes {
			s.check(s.stepCall(attr, [][]int64{{n}}, func() layout { return dense }))
		}
		for _, dims := range shapes {
			s.check(s.stepCall(attr, [][]int64{dims}, func() layout { return s.pick(writable) }))
		}
		many := [][]int64{{3}, {0}, {}, {17, 5}, {257}, {2, 0, 3}, {1, 1}, {31}}
		s.check(s.stepCall(attr, many, func() layout { return dense }))
		s.check(s.stepCall(attr, many, func() layout { return s.pick(writable) }))
		s.severalSteps(attr, 5, 1e-5)
	}
	attrs := s.hyperparameters()
	for _, attr := range []kernels.Attr{attrs[0], attrs[len(attrs)-1]} { // several threads
		s.check(s.stepCall(attr, [][]int64{{5}, {40009}, {131, 257}}, func() layout { return dense }))
	}
	if s.id == kernels.AdamWStep && s.dtype == kernels.Float32 {
		steps := 10_000
		if s.every > 1 {
			steps = 1000
		}
		for _, first := range []int64{1, 0} { // as a scalar, in memory
			s.severalSteps(kernels.Attr{AdamW: kernels.AdamWAttr{
				LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01, Step: first}}, steps, 1e-3)
		}
	}
}

// severalSteps runs steps of the table on its own state and compares the
// parameter with a recomputation in float64, within tol of its size.
func (s *suite) severalSteps(attr kernels.Attr, steps int, tol float64) {
	s.Helper()
	const n = 37
	attr.SGD.First = attr.SGD.Momentum != 0
	c := s.stepCall(attr, [][]int64{{n}}, func() layout { return dense })
	for i := 1; i < len(c.out); i++ {
		c.out[i].fill(func(d kernels.DType, _ int) uint64 { return toBits(d, 0) })
	}
	var model [n]stepper
	for i, p := range c.values(result{bytes: initial(c)})[0] {
		model[i].p = p
	}
	for step := range steps {
		c.setStep(int64(step + 1))
		c.in[0].fill(func(d kernels.DType, i int) uint64 { // a gradient with a target and noise
			g := model[i].p - float64(i)/n + 0.1*s.rand.Float64()
			bits := toBits(d, g)
			model[i].g = toFloat(d, bits)
			return bits
		})
		r := c.run(s.device)
		if r.err != nil {
			s.Fatal(r.err)
		}
		for _, o := range c.out {
			copy(o.mem.initial(), r.bytes[o.mem])
		}
		for i := range model {
			model[i].step(s.id, &c.attr, step+1)
		}
		c.attr.SGD.First = false
	}
	for i, got := range c.values(result{bytes: initial(c)})[0] {
		if want := model[i].p; math.Abs(got-want) > tol*max(1, math.Abs(want)) {
			s.Fatalf("%v: parameter %d is %v after %d steps, want %v", c, i, got, steps, want)
		}
	}
}

// initial returns the bytes of c's memories as they are before a run.
func initial(c *call) map[*memory][]byte {
	m := map[*memory][]byte{}
	for _, o := range append(append([]operand(nil), c.out...), c.in...) {
		m[o.mem] = o.mem.initial()
	}
	return m
}

// stepper is one parameter in float64, stepped by PyTorch's formulas.
type stepper struct {
	p, g    float64
	m, v    float64 // moments, or m the momentum buffer
	started bool
}

func (x *stepper) step(id kernels.ID, attr *kernels.Attr, number int) {
	if id == kernels.AdamWStep {
		h, t := attr.AdamW, float64(number)
		x.p *= 1 - h.LR*h.WeightDecay
		x.m += (x.g - x.m) * (1 - h.Beta1)
		x.v = h.Beta2*x.v + (1-h.Beta2)*x.g*x.g
		denominator := math.Sqrt(x.v)/math.Sqrt(1-math.Pow(h.Beta2, t)) + h.Eps
		x.p -= h.LR / (1 - math.Pow(h.Beta1, t)) * x.m / denominator
		return
	}
	h := attr.SGD
	d := x.g + h.WeightDecay*x.p
	if h.Momentum != 0 {
		if x.started {
			x.m = h.Momentum*x.m + (1-h.Dampening)*d
		} else {
			x.m = d
		}
		x.started = true
		if h.Nesterov {
			d += h.Momentum * x.m
		} else {
			d = x.m
		}
	}
	x.p -= h.LR * d
}
