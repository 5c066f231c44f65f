// Package nn has layers, a loss and optimisers on top of package tensor. The other
// losses are methods of [tensor.Tensor].
//
// A [Module] maps a tensor to a tensor and names its parameters. Forward
// borrows its argument and returns a handle that the caller owns; what it makes
// on the way it releases itself, as soon as the last op that reads it is
// launched. Where to run, in which scope and whether to record come with the
// argument: model.Forward(x.NoGrad()) records nothing.
//
// [Sequential] and [Parts] make modules of modules; [Train] and [Eval] reach all that
// a module is made of. A layer whose settings are few is its own constructor:
// nn.GELU{}, nn.MaxPool2D{Kernel: [2]int{2, 2}}, &nn.Dropout{P: 0.1, From: generator}.
//
// Names and defaults are PyTorch's. Two differences: Linear stores its weight as
// [in, out], so that the forward product reads it as it lies; and a layer made by
// its literal has no defaults, as a field of 0 is a 0.
package nn
