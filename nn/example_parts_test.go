package nn_test

import (
	"fmt"
	"math/rand/v2"

	"tarn/nn"
	"tarn/tensor"
)

// block is a transformer's: attention and a perceptron, each added to what it reads.
type block struct {
	nn.Parts
	heads        int
	norm1, norm2 *nn.LayerNorm
	qkv, out     *nn.Linear
	perceptron   *nn.Sequential
	drop         *nn.Dropout
}

func newBlock(p tensor.Place, width, heads int, r *rand.Rand, g *tensor.Generator) *block {
	const dt = tensor.Float32
	b := &block{
		heads: heads,
		norm1: must(nn.NewLayerNorm(p, dt, []int{width})),
		qkv:   must(nn.NewLinear(p, dt, width, 3*width, r)),
		out:   must(nn.NewLinear(p, dt, width, width, r)),
		norm2: must(nn.NewLayerNorm(p, dt, []int{width})),
		perceptron: nn.NewSequential(must(nn.NewLinear(p, dt, width, 4*width, r)), nn.GELU{},
			must(nn.NewLinear(p, dt, 4*width, width, r))),
		drop: &nn.Dropout{P: 0.1, From: g},
	}
	b.Parts = nn.Parts{{Name: "norm1", Module: b.norm1}, {Name: "qkv", Module: b.qkv}, {Name: "out", Module: b.out},
		{Name: "norm2", Module: b.norm2}, {Name: "perceptron", Module: b.perceptron}, {Name: "drop", Module: b.drop}}
	return b
}

// Forward leaves what it makes on the way to the scope of x [N,L,width].
func (b *block) Forward(x *tensor.Tensor) *tensor.Tensor {
	n, l, width := x.Dim(0), x.Dim(1), x.Dim(2)
	qkv := b.qkv.Forward(b.norm1.Forward(x)).View(n, l, 3, b.heads, width/b.heads).Permute(2, 0, 3, 1, 4)
	seen := qkv.Select(0, 0).Attention(qkv.Select(0, 1), qkv.Select(0, 2), tensor.AttentionOptions{Causal: true})
	x = x.Add(b.drop.Forward(b.out.Forward(seen.Transpose(1, 2).Reshape(n, l, width))))
	return x.Add(b.drop.Forward(b.perceptron.Forward(b.norm2.Forward(x))))
}

// language is a model whose last product shares the weight of its embedding.
type language struct {
	nn.Parts
	tokens, places *nn.Embedding
	blocks         *nn.Sequential
	norm           *nn.LayerNorm
}

func (m *language) Forward(ids *tensor.Tensor) *tensor.Tensor {
	at := tensor.Arange(ids.Place(), tensor.Int64, 0, float64(ids.Dim(1)), 1)
	h := m.blocks.Forward(m.tokens.Forward(ids).Add(m.places.Forward(at)))
	return m.norm.Forward(h).Linear(m.tokens.Weight.T(), nil)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("example: " + err.Error())
	}
	return v
}

// A small transformer learns to count modulo 5.
func ExampleParts() {
	dev, r, g := tensor.CPU(), rand.New(rand.NewPCG(1, 2)), tensor.NewGenerator(3)
	m := &language{
		tokens: must(nn.NewEmbedding(dev, tensor.Float32, 5, 16, r)),
		places: must(nn.NewEmbedding(dev, tensor.Float32, 8, 16, r)),
		blocks: nn.NewSequential(newBlock(dev, 16, 2, r, g), newBlock(dev, 16, 2, r, g)),
		norm:   must(nn.NewLayerNorm(dev, tensor.Float32, []int{16})),
	}
	m.Parts = nn.Parts{{Name: "tokens", Module: m.tokens}, {Name: "places", Module: m.places},
		{Name: "blocks", Module: m.blocks}, {Name: "norm", Module: m.norm}}
	params := m.Parameters()
	opt := must(nn.NewAdamW(params, nn.AdamWOptions{LR: 1e-2, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}))
	step := func() error {
		s := tensor.NewScope()
		defer s.Close()
		starts := tensor.Randint(dev.In(s), g, tensor.Int64, 0, 5, 16, 1)
		ids := starts.Add(tensor.Arange(dev, tensor.Int64, 0, 9, 1)).Remainder(tensor.Scalar(dev, tensor.Int64, 5))
		logits := m.Forward(ids.Slice(1, 0, 8, 1))
		loss := nn.CrossEntropy(logits.Flatten(0, 1), ids.Slice(1, 1, 9, 1).Flatten(0, 1))
		if err := opt.ZeroGrad(); err != nil {
			return err
		}
		if err := loss.Backward(); err != nil {
			return err
		}
		if _, err := nn.ClipGradNorm(params, 1, 2); err != nil {
			return err
		}
		return opt.Step()
	}
	for range 60 {
		if err := step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	nn.Eval(m)
	ids := tensor.FromSlice(dev, []int64{3, 4, 0, 1}, 1, 4)
	fmt.Println(len(params), params[0].Name, params[2].Name)
	fmt.Println(m.Forward(ids.NoGrad()).ArgMax(-1))
	// Output:
	// 28 tokens.weight blocks.0.norm1.weight
	// tensor([[4, 0, 1, 2]])
}
