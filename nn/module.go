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

// Release ends the handles on all of m's parameters.
func Release(m Module) error {
	for _, p := range m.Parameters() {
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("nn: release gradient of %s: %w", p.Name, err)
		}
		if err := p.Release(); err != nil {
			return fmt.Errorf("nn: release %s: %w", p.Name, err)
		}
	}
	return nil
}

// Sequential runs modules one after another. A Linear followed by a ReLU runs
// as one kernel.
type Sequential struct {
	Modules []Module
}

// NewSequential returns the modules in a row.
func NewSequential(modules ...Module) *Sequential { return &Sequential{Modules: modules} }

// Forward feeds x through the modules.
func (s *Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	h := x
	for i := 0; i < len(s.Modules); i++ {
		var y *tensor.Tensor
		linear, isLinear := s.Modules[i].(*Linear)
		if isLinear && i+1 < len(s.Modules) && isReLU(s.Modules[i+1]) {
			y = h.LinearReLU(linear.Weight, linear.Bias)
			i++
		} else {
			y = s.Modules[i].Forward(h)
		}
		if h != x {
			h.Release()
		}
		h = y
	}
	if h == x {
		return x.Contiguous()
	}
	return h
}

// Parameters returns the modules' parameters, named by the module's index.
func (s *Sequential) Parameters() []Parameter {
	var all []Parameter
	for i, m := range s.Modules {
		for _, p := range m.Parameters() {
			all = append(all, Parameter{fmt.Sprintf("%d.%s", i, p.Name), p.Tensor})
		}
	}
	return all
}

// ReLU is max(x, 0) as a module.
type ReLU struct{}

// Forward returns max(x, 0).
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.ReLU() }

// Parameters returns none.
func (ReLU) Parameters() []Parameter { return nil }

func isReLU(m Module) bool {
	switch m.(type) {
	case ReLU, *ReLU:
		return true
	}
	return false
}

// CrossEntropy returns the mean negative log-probability of the classes [N]
// under the softmax of logits [N,C]. See [tensor.Tensor.CrossEntropy].
func CrossEntropy(logits, classes *tensor.Tensor) *tensor.Tensor {
	return logits.CrossEntropy(classes)
}
