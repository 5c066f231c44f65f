package nn

import "tarn/tensor"

// stateless is a module's want of parameters.
type stateless struct{}

// Parameters returns none.
func (stateless) Parameters() []Parameter { return nil }

// Func is a function as a module, for what has no module of its own:
// nn.Func((*tensor.Tensor).Exp). In a [Sequential] it may return x itself.
type Func func(x *tensor.Tensor) *tensor.Tensor

// Forward returns f(x).
func (f Func) Forward(x *tensor.Tensor) *tensor.Tensor { return f(x) }

// Parameters returns none.
func (f Func) Parameters() []Parameter { return nil }

// ReLU is max(x, 0) as a module.
type ReLU struct{ stateless }

// Forward returns max(x, 0).
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.ReLU() }

// LeakyReLU is [tensor.Tensor.LeakyReLU] as a module. PyTorch's Slope is 0.01.
type LeakyReLU struct {
	stateless
	Slope float64
}

// Forward returns x where it is above 0, else x times Slope.
func (l LeakyReLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.LeakyReLU(l.Slope) }

// ELU is [tensor.Tensor.ELU] as a module. PyTorch's Alpha is 1.
type ELU struct {
	stateless
	Alpha float64
}

// Forward returns x where it is above 0, else Alpha*(exp(x)-1).
func (e ELU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.ELU(e.Alpha) }

// GELU is [tensor.Tensor.GELU] as a module.
type GELU struct{ stateless }

// Forward returns x times the part of a normal distribution below it.
func (GELU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.GELU() }

// GELUTanh is [tensor.Tensor.GELUTanh] as a module, PyTorch's
// GELU(approximate="tanh").
type GELUTanh struct{ stateless }

// Forward returns an approximation of GELU.
func (GELUTanh) Forward(x *tensor.Tensor) *tensor.Tensor { return x.GELUTanh() }

// SiLU is x times its sigmoid as a module.
type SiLU struct{ stateless }

// Forward returns x times its sigmoid.
func (SiLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.SiLU() }

// Sigmoid is 1/(1+exp(-x)) as a module.
type Sigmoid struct{ stateless }

// Forward returns 1/(1+exp(-x)).
func (Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }

// Tanh is the hyperbolic tangent as a module.
type Tanh struct{ stateless }

// Forward returns the hyperbolic tangent.
func (Tanh) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Tanh() }

// Softplus is [tensor.Tensor.Softplus] as a module. PyTorch's Beta is 1, and its
// Threshold 20.
type Softplus struct {
	stateless
	Beta, Threshold float64
}

// Forward returns log(1+exp(Beta*x))/Beta.
func (s Softplus) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(s.Beta, s.Threshold) }
