package nn

import (
	"fmt"

	"tarn/tensor"
)

// Module is a function with parameters.
type Module interface {
	// Forward borrows x and returns a handle that the caller owns. A failure
	// is carried by the result; see [tensor.Tensor.Err].
	Forward(x *tensor.Tensor) *tensor.Tensor
	// Parameters returns the parameters by name, in a fixed order.
	Parameters() []Parameter
}

// Parameter is a leaf that an optimiser updates, with its name in the model,
// such as "0.weight".
type Parameter struct {
	Name string
	*tensor.Tensor
}

// Buffered is a module that has tensors beside its parameters that training
// changes, such as running statistics.
type Buffered interface {
	Buffers() []Parameter
}

// Moded is a module that does something else in training than after it.
type Moded interface {
	SetTraining(on bool)
}

// Composite is a module that is made of others, which [Train], [Eval] and [State]
// go through.
type Composite interface {
	Children() Parts
}

// Train puts all that m is made of into training, which is how they begin.
func Train(m Module) { setTraining(m, true) }

// Eval is the end of training for all that m is made of: a [Dropout] lets x
// through, a [BatchNorm] takes its running statistics. Whether ops are recorded is
// another question, which x answers; see [tensor.Tensor.NoGrad].
func Eval(m Module) { setTraining(m, false) }

func setTraining(m Module, on bool) {
	if moded, ok := m.(Moded); ok {
		moded.SetTraining(on)
	}
	for _, p := range children(m) {
		setTraining(p.Module, on)
	}
}

// State returns m's parameters, and then the buffers of all that it is made of:
// what is to be saved and loaded of it.
func State(m Module) []Parameter { return append(m.Parameters(), buffers("", m)...) }

func buffers(prefix string, m Module) []Parameter {
	var all []Parameter
	if b, ok := m.(Buffered); ok {
		for _, t := range b.Buffers() {
			all = append(all, Parameter{prefix + t.Name, t.Tensor})
		}
	}
	for _, p := range children(m) {
		all = append(all, buffers(prefix+p.Name+".", p.Module)...)
	}
	return all
}

func children(m Module) Parts {
	if c, ok := m.(Composite); ok {
		return c.Children()
	}
	return nil
}

// Release ends the handles on all of m's parameters and buffers.
func Release(m Module) error {
	for _, p := range State(m) {
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("nn: release gradient of %s: %w", p.Name, err)
		}
		if err := p.Release(); err != nil {
			return fmt.Errorf("nn: release %s: %w", p.Name, err)
		}
	}
	return nil
}

// CrossEntropy returns the mean negative log-probability of the classes [N]
// under the softmax of logits [N,C]. See [tensor.Tensor.CrossEntropy].
func CrossEntropy(logits, classes *tensor.Tensor) *tensor.Tensor {
	return logits.CrossEntropy(classes)
}
