package nn

import (
	"fmt"
	"math/rand/v2"

	"tarn/tensor"
)

// Embedding is [tensor.Embedding] as a module: the rows of Weight [V,D] that
// indices, int64 or int32 of any shape, name. To share the weight with the Linear
// that goes back to V, use h.Linear(e.Weight.T(), nil).
type Embedding struct {
	Weight *tensor.Tensor
}

// NewEmbedding makes an Embedding of v rows of d elements, initialised from r as
// PyTorch's is: normal, with a deviation of 1.
func NewEmbedding(p tensor.Place, dt tensor.DType, v, d int, r *rand.Rand) (*Embedding, error) {
	if v < 1 || d < 1 {
		return nil, fmt.Errorf("nn: Embedding(%d, %d): %w: sizes must be positive", v, d, tensor.ErrShape)
	}
	e := &Embedding{Weight: drawn(p, dt, r.NormFloat64, []int{v, d}).RequireGrad()}
	if err := made(e); err != nil {
		return nil, fmt.Errorf("nn: Embedding(%d, %d): %w", v, d, err)
	}
	return e, nil
}

// Forward returns the rows of the weight that index names.
func (e *Embedding) Forward(index *tensor.Tensor) *tensor.Tensor {
	return tensor.Embedding(e.Weight, index)
}

// Parameters returns the weight.
func (e *Embedding) Parameters() []Parameter { return weightAndBias(e.Weight, nil) }
