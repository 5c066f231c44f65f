package kernels

import "sync"

// Args is one call of an op. Take one from [NewArgs] and give it back with
// [Args.Put]: calls are many and short, and a pooled record keeps them free of
// Go allocations.
type Args struct {
	Out  []View
	In   []View
	Work View // Work.Ptr is 0 where Op.Workspace asked for nothing
	Attr Attr
}

// Attr holds an op's scalars. Which fields an op reads stands at its ID; the
// others are zero.
type Attr struct {
	Alpha, Beta float64    // Affine, Fill, Sum, Norm, Sequence, RandomUniform and the like
	Accumulate  bool       // add into Out in place of overwriting it
	Activation  Activation // MatMul
	Axis        int        // ArgMax, CumSum, Sort, Gather, Softmax and the like
	Norm        NormAttr   // LayerNorm and the like
	Loss        LossAttr   // NLL
	Conv        ConvAttr   // Conv and its gradients
	Pool        PoolAttr   // the poolings, but for the adaptive ones
	Correction  float64    // Var
	Descending  bool       // Sort
	SGD         SGDAttr
	AdamW       AdamWAttr
	Attention   AttentionAttr
	Random      RandomAttr // the random ops
}

// Activation is a function that a kernel applies to its result before storing.
type Activation uint8

// The activations that a kernel can fuse.
const (
	Identity Activation = iota
	Rectify             // max(x, 0); NaN stays NaN
)

// SGDAttr holds the hyperparameters of one SGD step, with PyTorch's meaning.
type SGDAttr struct {
	LR, Momentum, Dampening, WeightDecay float64

	Nesterov bool
	First    bool // the momentum buffers hold nothing yet
}

// AdamWAttr holds the hyperparameters of one AdamW step, with PyTorch's
// meaning. Step counts from 1; as an Attr it may be 0, see [AdamWStep].
type AdamWAttr struct {
	LR, Beta1, Beta2, Eps, WeightDecay float64

	Step int64
}

// AttentionAttr holds the scalars of Attention and AttentionGrad.
type AttentionAttr struct {
	Scale  float64 // of the products of queries and keys
	Causal bool    // query i sees the keys 0 to i alone
}

// NormAttr holds the scalars of a normalisation; see [LayerNorm] and those that
// follow it.
type NormAttr struct {
	Eps      float64 // added to the variance
	Momentum float64 // BatchNorm: the part of the new statistics in the running ones
	Groups   int     // GroupNorm
	Given    bool    // BatchNormGrad: the statistics were given, not x's
}

// LossAttr holds the scalars of a loss; see [NLL].
type LossAttr struct {
	Ignore    int64   // the class of rows that do not count
	Smoothing float64 // of the labels, from 0 to 1
}

var argsPool = sync.Pool{New: func() any {
	return &Args{Out: make([]View, 0, 4), In: make([]View, 0, 4)}
}}

// NewArgs returns an empty Args.
func NewArgs() *Args { return argsPool.Get().(*Args) }

// Put gives a back for reuse. The caller must not use it afterwards.
func (a *Args) Put() {
	a.Out, a.In = a.Out[:0], a.In[:0]
	a.Work, a.Attr = View{}, Attr{}
	argsPool.Put(a)
}
