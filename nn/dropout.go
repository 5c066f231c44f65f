package nn

import "tarn/tensor"

// Dropout is [tensor.Tensor.Dropout] as a module: it sets elements to 0 with
// probability P, drawn from From, unless Eval is set. See [Train] and [Eval].
type Dropout struct {
	P    float64
	From *tensor.Generator
	Eval bool // x goes through as it is
}

// Forward returns x with some elements 0 and the others times 1/(1-P).
func (d *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Dropout(d.From, d.P, !d.Eval) }

// Parameters returns none.
func (d *Dropout) Parameters() []Parameter { return nil }

// SetTraining clears Eval, or sets it.
func (d *Dropout) SetTraining(on bool) { d.Eval = !on }
