package tensor

import (
	"math"

	"tarn/kernels"
)

// ReLU returns max(t, 0); NaN stays NaN. Its gradient at 0 is 0.
func (t *Tensor) ReLU() *Tensor {
	if t.err == nil && t.view.DType.IsInt() {
		return t.Clamp(0, math.Inf(1))
	}
	return unary(reluDef, kernels.ReLU, t, kernels.Attr{})
}

// LeakyReLU returns t where it is above 0, else t times slope, which PyTorch has
// as 0.01.
func (t *Tensor) LeakyReLU(slope float64) *Tensor {
	return unary(leakyReLUDef, kernels.LeakyReLU, t, kernels.Attr{Alpha: slope})
}

// ELU returns t where it is above 0, else alpha*(exp(t)-1).
func (t *Tensor) ELU(alpha float64) *Tensor {
	return unary(eluDef, kernels.ELU, t, kernels.Attr{Alpha: alpha})
}

// Sigmoid returns 1/(1+exp(-t)).
func (t *Tensor) Sigmoid() *Tensor { return unary(sigmoidDef, kernels.Sigmoid, t, kernels.Attr{}) }

// Tanh returns the hyperbolic tangent.
func (t *Tensor) Tanh() *Tensor { return unary(tanhDef, kernels.Tanh, t, kernels.Attr{}) }

// SiLU returns t times its sigmoid, also called swish.
func (t *Tensor) SiLU() *Tensor { return unary(siluDef, kernels.SiLU, t, kernels.Attr{}) }

// GELU returns t times the part of a normal distribution that lies below it
// (Hendrycks and Gimpel, 2016), exactly.
func (t *Tensor) GELU() *Tensor { return unary(geluDef, kernels.GELU, t, kernels.Attr{}) }

// GELUTanh is the approximation of GELU by a tanh that GPT-2 was trained with.
func (t *Tensor) GELUTanh() *Tensor { return unary(geluTanhDef, kernels.GELUTanh, t, kernels.Attr{}) }

// Softplus returns log(1+exp(beta*t))/beta, and t itself where beta*t is above
// threshold. PyTorch has them as 1 and 20.
func (t *Tensor) Softplus(beta, threshold float64) *Tensor {
	return unary(softplusDef, kernels.Softplus, t, kernels.Attr{Alpha: beta, Beta: threshold})
}

// reluGrad returns up where y, ReLU's result, is not 0 or below.
func reluGrad(up, y *Tensor) *Tensor { return slope(kernels.ReLUGrad, up, y, kernels.Attr{}) }
