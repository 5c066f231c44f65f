package tensor

import (
	"fmt"

	"tarn/kernels"
)

// BatchNormOptions says by which statistics a BatchNorm normalises.
type BatchNormOptions struct {
	// Training: by those of the batch, of which the running ones then take a part
	// of Momentum; else by the running ones.
	Training bool
	Momentum float64
	Eps      float64 // added to the variance
}

// BatchNorm is, for each channel of t [N,C,...], (t-mean)/sqrt(var+Eps)*w + b,
// with w and b [C], which may be nil, of types as for [Tensor.LayerNorm]. In
// training mean and var are those of the channel over all examples, and mean and
// variance [C], if they are not nil, are moved towards them in place: new =
// (1-Momentum)*old + Momentum*batch's, the variance with n-1 for n as in PyTorch.
// Otherwise they are what is taken. They are float64 for float64 and float32 for
// all other types, and take no gradient.
// Training with a single element a channel is an error, as in PyTorch; without
// any the running statistics stay, and so they do where a [Checkpoint]'s function
// runs again.
func (t *Tensor) BatchNorm(w, b, mean, variance *Tensor, o BatchNormOptions) *Tensor {
	if w == nil && b != nil {
		return thenAddChannels(t.BatchNorm(nil, nil, mean, variance, o), b)
	}
	var c call
	startNorm(&c, batchNormDef, t, w, b)
	if c.err == nil {
		c.err = c.wantChannelStatistics(mean, variance, o.Training)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x := c.operands[0].view
	shape, channels := planesOf(&x), x.Dims[1:2]
	c.result(x.DType, x.Dims[:x.Rank])
	s := seen{c: &c}
	seenX := s.as(c.operands[0], shape...)
	vectors := s.flat(c.operands[1:c.n])
	wideX, wideY := s.wide(seenX, c.affineType()), s.wideResult(c.affineType())
	attr := kernels.Attr{Norm: kernels.NormAttr{Eps: o.Eps, Momentum: o.Momentum}}
	if o.Training && c.env.get().region.again() {
		mean, variance = nil, nil // which the first call has moved
	}
	statistics := []*Tensor{mean, variance}
	if o.Training {
		statistics = []*Tensor{s.keep(s.make(x.DType.Statistic(), channels)), s.keep(s.make(x.DType.Statistic(), channels))}
	}
	if c.err == nil {
		id := kernels.BatchNormInfer
		a := kernels.NewArgs()
		a.Attr = attr
		a.Out = append(a.Out, s.as(wideY, shape...).view)
		a.In = append(a.In, wideX.view)
		outs, ins := []*Tensor{wideY}, append([]*Tensor{wideX}, vectors...)
		if o.Training {
			id = kernels.BatchNorm
			outs = append(outs, statistics...)
			if mean != nil {
				outs = append(outs, mean, variance)
			}
			for _, t := range outs[1:] {
				a.Out = append(a.Out, t.view)
			}
		} else {
			a.In = append(a.In, mean.view, variance.view)
			ins = append(ins, mean, variance)
		}
		for _, v := range vectors {
			a.In = append(a.In, v.view)
		}
		c.err = c.stream.launch(id, a, outs, ins)
		c.launched = true
		a.Put()
		if c.err == nil && o.Training && mean != nil {
			mean.storage.version.Add(1)
			variance.storage.version.Add(1)
		}
		s.settle(wideY)
	}
	y := c.finish(func(n *node) {
		n.save(0, seenX)
		if len(vectors) > 0 {
			n.save(1, vectors[0])
		}
		n.save(resultSlot, statistics[0])
		n.save(resultSlot+1, statistics[1])
		attr.Norm.Given = !o.Training
		n.attr.scalars = &attr
	})
	s.release()
	return y
}

// wantChannelStatistics checks the operands and the running statistics.
func (c *call) wantChannelStatistics(mean, variance *Tensor, training bool) error {
	x := &c.operands[0].view
	if x.Rank < 2 {
		return fmt.Errorf("%w: needs [N,C,...]", ErrShape)
	}
	if err := c.wantChannels(x.Dims[1:2]); err != nil {
		return err
	}
	switch {
	case training && x.Dims[1] > 0 && x.Len() == x.Dims[1]:
		return fmt.Errorf("%w: training needs more than one element a channel", ErrShape)
	case (mean == nil) != (variance == nil):
		return fmt.Errorf("%w: a running mean and a running variance go together", ErrShape)
	case mean == nil && !training:
		return fmt.Errorf("%w: without training running statistics are needed", ErrShape)
	case mean == nil:
		return nil
	}
	for _, r := range []*Tensor{mean, variance} {
		if err := r.usable(); err != nil {
			return err
		}
		switch {
		case r.view.DType != x.DType.Statistic():
			return dtypeError("running statistics of %v are %v, want %v", x.DType, r.view.DType, x.DType.Statistic())
		case r.view.Rank != 1 || r.view.Dims[0] != x.Dims[1]:
			return fmt.Errorf("%w: running statistics %v for %d channels", ErrShape, r.Shape(), x.Dims[1])
		case r.dev != c.dev:
			return fmt.Errorf("%w: running statistics on %s, the tensor on %s", ErrDevice, r.dev, c.dev)
		}
		if err := r.writable(); training && err != nil {
			return err
		}
	}
	return nil
}

func batchNormBackward(g *gradients) error {
	x, mean, variance := g.saved(0), g.saved(resultSlot), g.saved(resultSlot+1)
	return normGradients(g, kernels.BatchNormGrad, x, mean, variance, []kernels.View{mean.view, variance.view})
}
