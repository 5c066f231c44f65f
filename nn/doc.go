// Package nn has layers, a loss and optimisers on top of package tensor.
//
// A [Module] maps a tensor to a tensor and names its parameters. Forward
// borrows its argument and returns a handle that the caller owns; what it makes
// on the way it releases itself, as soon as the last op that reads it is
// launched. Where to run, in which scope and whether to record come with the
// argument: model.Forward(x.NoGrad()) records nothing.
//
// Names and defaults are PyTorch's. One difference: Linear stores its weight as
// [in, out], so that the forward product reads it as it lies.
package nn
