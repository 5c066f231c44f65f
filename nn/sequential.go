package nn

import (
	"strconv"

	"tarn/tensor"
)

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
		if h != x && h != y {
			h.Release()
		}
		h = y
	}
	if h == x {
		return x.Contiguous()
	}
	return h
}

// Children returns the modules, named by their index.
func (s *Sequential) Children() Parts {
	parts := make(Parts, len(s.Modules))
	for i, m := range s.Modules {
		parts[i] = Part{strconv.Itoa(i), m}
	}
	return parts
}

// Parameters returns the modules' parameters, named by the module's index. A
// tensor that is there twice is so once here.
func (s *Sequential) Parameters() []Parameter { return s.Children().Parameters() }

func isReLU(m Module) bool {
	switch m.(type) {
	case ReLU, *ReLU:
		return true
	}
	return false
}
