package nn

import "tarn/tensor"

// MaxPool2D is [tensor.Tensor.MaxPool2D] as a module:
// nn.MaxPool2D{Kernel: [2]int{2, 2}}.
type MaxPool2D tensor.Pool

// Forward returns the largest element of each window.
func (m MaxPool2D) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MaxPool2D(tensor.Pool(m)) }

// Parameters returns none.
func (m MaxPool2D) Parameters() []Parameter { return nil }

// AvgPool2D is [tensor.Tensor.AvgPool2D] as a module.
type AvgPool2D tensor.Pool

// Forward returns the mean of each window.
func (a AvgPool2D) Forward(x *tensor.Tensor) *tensor.Tensor { return x.AvgPool2D(tensor.Pool(a)) }

// Parameters returns none.
func (a AvgPool2D) Parameters() []Parameter { return nil }

// AdaptiveAvgPool2D is [tensor.Tensor.AdaptiveAvgPool2D] as a module: the means of
// H by W bins.
type AdaptiveAvgPool2D struct {
	stateless
	H, W int
}

// Forward returns the means of H by W bins.
func (a AdaptiveAvgPool2D) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.AdaptiveAvgPool2D(a.H, a.W)
}

// Flatten makes the dims of each example one, as PyTorch's does: x [N,...] becomes
// [N,M].
type Flatten struct{ stateless }

// Forward returns x as [N,M].
func (Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Flatten(1, -1) }
