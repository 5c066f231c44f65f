package nn

import "tarn/tensor"

// Part is a module by its name in another one.
type Part struct {
	Name string
	Module
}

// Parts are what a module is made of. A struct that embeds them and has a Forward
// is a [Module] and a [Composite]:
//
//	type residual struct {
//		nn.Parts
//		norm *nn.LayerNorm
//		up   *nn.Linear
//	}
//
//	r := &residual{norm: norm, up: up}
//	r.Parts = nn.Parts{{Name: "norm", Module: norm}, {Name: "up", Module: up}}
//
// One that has tensors of its own puts them before those of its parts in a
// Parameters of its own.
type Parts []Part

// Children returns p.
func (p Parts) Children() Parts { return p }

// Parameters returns the parameters of all parts, such as "up.weight". A tensor
// that several parts share is there once, under its first name.
func (p Parts) Parameters() []Parameter {
	var all []Parameter
	seen := map[*tensor.Tensor]bool{}
	for _, part := range p {
		for _, q := range part.Parameters() {
			if !seen[q.Tensor] {
				seen[q.Tensor] = true
				all = append(all, Parameter{part.Name + "." + q.Name, q.Tensor})
			}
		}
	}
	return all
}
