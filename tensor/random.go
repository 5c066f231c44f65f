package tensor

import "tarn/kernels"

// Rand returns a tensor of numbers uniform in [0,1), as many as dt has in equal
// steps of the last digit of those next to 1. Floats only.
func Rand(p Place, g *Generator, dt DType, shape ...int) *Tensor {
	return RandUniform(p, g, dt, 0, 1, shape...)
}

// RandUniform returns a tensor of numbers uniform in [low,high): low plus the
// distance times a number of [Rand]'s, which may be rounded to high. Floats only.
func RandUniform(p Place, g *Generator, dt DType, low, high float64, shape ...int) *Tensor {
	return drawn("RandUniform", p, g, dt, shape, kernels.RandomUniform, kernels.Attr{Alpha: low, Beta: high})
}

// Randn returns a tensor of normally distributed numbers, of mean 0 and deviation
// 1. Floats only.
func Randn(p Place, g *Generator, dt DType, shape ...int) *Tensor {
	return RandNormal(p, g, dt, 0, 1, shape...)
}

// RandNormal returns a tensor of normally distributed numbers. A deviation below
// 0 is an error. Floats only.
func RandNormal(p Place, g *Generator, dt DType, mean, deviation float64, shape ...int) *Tensor {
	return drawn("RandNormal", p, g, dt, shape, kernels.RandomNormal, kernels.Attr{Alpha: mean, Beta: deviation})
}

// Randint returns a tensor of whole numbers of [low,high), each as frequent as
// the others to within (high-low)/2^64 of its share. dt is any but Bool, and has
// all numbers of the range: a float none beyond 2 to the power of its digits.
func Randint(p Place, g *Generator, dt DType, low, high int64, shape ...int) *Tensor {
	return drawn("Randint", p, g, dt, shape, kernels.RandomInt, kernels.Attr{Random: kernels.RandomAttr{Low: low, High: high}})
}

// Bernoulli returns a tensor whose elements are 1, or true, with the given
// probability of [0,1], and else 0.
func Bernoulli(p Place, g *Generator, dt DType, probability float64, shape ...int) *Tensor {
	return drawn("Bernoulli", p, g, dt, shape, kernels.Bernoulli, kernels.Attr{Alpha: probability})
}

// Bernoulli returns a tensor of t's shape and dtype, a float, each of whose
// elements is 1 with t's element as its probability, and else 0. What lies below
// 0, or is NaN, counts as 0, and what is above 1 as 1, where PyTorch fails: to
// look would make the host wait. It has no gradient.
func (t *Tensor) Bernoulli(g *Generator) *Tensor {
	var c call
	start(&c, bernoulliDef, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	c.draw(g, kernels.Bernoulli, kernels.Attr{})
	return c.finish(nil)
}

// draw runs a random op on the operands as they are.
func (c *call) draw(g *Generator, id kernels.ID, attr kernels.Attr) (used kernels.Attr) {
	if c.err == nil {
		attr.Random, c.err = g.reserve(c.stream, c.operands[0], id, c.out.view.DType, c.out.view.Len())
	}
	c.run(id, attr)
	return attr
}

// RandUniform overwrites t with numbers uniform in [low,high), an in-place
// change; see the function of that name.
func (t *Tensor) RandUniform(g *Generator, low, high float64) error {
	return t.overwrite("RandUniform", g, kernels.RandomUniform, kernels.Attr{Alpha: low, Beta: high})
}

// RandNormal overwrites t with normally distributed numbers, an in-place change;
// see the function of that name.
func (t *Tensor) RandNormal(g *Generator, mean, deviation float64) error {
	return t.overwrite("RandNormal", g, kernels.RandomNormal, kernels.Attr{Alpha: mean, Beta: deviation})
}

func (t *Tensor) overwrite(op string, g *Generator, id kernels.ID, attr kernels.Attr) error {
	err := t.usable()
	if err == nil {
		err = t.writable()
	}
	if err == nil {
		err = t.draw(g, id, attr)
	}
	if err != nil {
		return newError(op, err, t)
	}
	t.storage.version.Add(1)
	return nil
}

func drawn(op string, p Place, g *Generator, dt DType, shape []int, id kernels.ID, attr kernels.Attr) *Tensor {
	t := create(op, p, dt, shape)
	if t.err == nil {
		if err := t.draw(g, id, attr); err != nil {
			return t.discard(newError(op, err, t))
		}
	}
	return t
}

// draw writes random numbers to t on its stream.
func (t *Tensor) draw(g *Generator, id kernels.ID, attr kernels.Attr) error {
	s := t.dev.streamOf(t.env)
	r, err := g.reserve(s, t, id, t.view.DType, t.view.Len())
	if err != nil {
		return err
	}
	r.Low, r.High = attr.Random.Low, attr.Random.High
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, t.view)
	a.Attr = attr
	a.Attr.Random = r
	return s.launch(id, a, []*Tensor{t}, nil)
}
