package tensor

import (
	"fmt"

	"tarn/kernels"
)

// CrossEntropy returns the mean over rows of the negative log-probability that
// softmax gives to each row's class. t [N,C] holds logits, classes [N] int64
// indices in [0,C); one out of range is [ErrIndex] naming row and class. A device
// that finds that out later gives NaN, and a gradient of 0 for the row. N = 0
// gives NaN, as in PyTorch.
func (t *Tensor) CrossEntropy(classes *Tensor) *Tensor {
	var c call
	start(&c, crossEntropyDef, t, classes)
	if c.err == nil {
		c.err = checkClasses(&t.view, &classes.view)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(t.view.DType, nil)
	c.run(kernels.CrossEntropy, kernels.Attr{})
	return c.finish(func(n *node) {
		// Backward takes the softmax anew from the logits: the N x C
		// probabilities are never stored.
		n.save(0, t)
		n.save(1, classes)
	})
}

func checkClasses(logits, classes *kernels.View) error {
	switch {
	case !logits.DType.IsFloat() || classes.DType != Int64:
		return dtypeError("needs float logits and int64 classes, got %v and %v", logits.DType, classes.DType)
	case logits.Rank != 2 || classes.Rank != 1 || logits.Dims[0] != classes.Dims[0]:
		return fmt.Errorf("%w: needs logits [N,C] and classes [N]", ErrShape)
	}
	return nil
}

func crossEntropyBackward(g *gradients) error {
	logits := g.saved(0)
	var c call
	start(&c, crossEntropyGradDef, g.up, logits, g.saved(1))
	c.result(logits.view.DType, logits.view.Dims[:2])
	c.run(kernels.CrossEntropyGrad, kernels.Attr{})
	g.put(0, c.finish(nil))
	return nil
}
