package tensor

import (
	"errors"
	"fmt"
	"math"

	"tarn/kernels"
)

// AttentionOptions say which keys a query sees, and how scores are scaled. The
// zero value is that of PyTorch's scaled_dot_product_attention.
type AttentionOptions struct {
	// Mask broadcasts to [..., L, S]: Bool, true where the key is seen, or of the
	// operands' dtype, added to the scores. It is a constant: one that requires
	// grad is an error.
	Mask *Tensor
	// Causal lets query i see the keys 0 to i alone, counted from the first key
	// also where L and S differ, as PyTorch's is_causal.
	Causal bool
	// Scale multiplies the products of queries and keys; 0 stands for 1/sqrt(D).
	Scale float64
}

// Attention returns the scaled dot-product attention of t, the queries
// [..., H, L, D], to the keys k [..., G, S, D] and the values v [..., G, S, E]:
// softmax(scale*t*k' + mask) times v, which is [..., H, L, E]. All three have 2,
// 3 or 4 dims, as many each; leading dims are equal, but for heads, of which G
// divides H: each head of k and v then serves H/G heads of t in a row, as with
// PyTorch's enable_gqa. Other leading dims do not broadcast.
//
// The scores are never stored, here or in backward: memory grows with L and with
// S, not with their product. A query that sees no key gives 0, as in PyTorch.
// Mask and Causal go together, which PyTorch refuses: a key is then seen where
// both let it. There is no dropout of scores; drop from the result.
func (t *Tensor) Attention(k, v *Tensor, o AttentionOptions) *Tensor {
	var c call
	if o.Mask == nil {
		start(&c, attentionDef, t, k, v)
	} else {
		start(&c, attentionDef, t, k, v, o.Mask)
	}
	var logsumexp *Tensor
	var attr kernels.AttentionAttr
	if c.err == nil {
		attr, c.err = c.attentionOf(o)
	}
	if c.err == nil {
		logsumexp = c.attend(attr)
	}
	result := c.finish(func(n *node) {
		for i := range c.n {
			n.save(i, c.operands[i])
		}
		n.save(attentionResult, c.out)
		n.save(attentionResult+1, logsumexp)
		n.attr.attention = attr
	})
	if logsumexp != nil {
		logsumexp.Release() // the node has what it needs
	}
	return result
}

// attentionResult is the slot of Attention's result, behind those of four
// operands, and the one after it is that of the logarithms.
const attentionResult = 4

// attentionOf checks the operands and returns the scalars.
func (c *call) attentionOf(o AttentionOptions) (kernels.AttentionAttr, error) {
	q, k, v := &c.operands[0].view, &c.operands[1].view, &c.operands[2].view
	attr := kernels.AttentionAttr{Scale: o.Scale, Causal: o.Causal}
	switch {
	case q.DType != k.DType || q.DType != v.DType || !q.DType.IsFloat():
		return attr, dtypeError("needs three of one float, got %v, %v and %v", q.DType, k.DType, v.DType)
	case q.Rank < 2 || q.Rank > 4 || k.Rank != q.Rank || v.Rank != q.Rank:
		return attr, fmt.Errorf("%w: queries, keys and values need 2, 3 or 4 dims, as many each", ErrShape)
	case math.IsNaN(o.Scale) || math.IsInf(o.Scale, 0):
		return attr, fmt.Errorf("%w: scale %v", kernels.ErrAttr, o.Scale)
	}
	if o.Scale == 0 {
		attr.Scale = 1 / math.Sqrt(float64(max(q.Dims[q.Rank-1], 1)))
	}
	if c.n < 4 {
		return attr, nil
	}
	m := &c.operands[3].view
	switch {
	case m.DType != Bool && m.DType != q.DType:
		return attr, dtypeError("the mask is %v, want bool or %v", m.DType, q.DType)
	case c.operands[3].RequiresGrad():
		return attr, fmt.Errorf("%w: a mask; Detach makes a constant of it", ErrNoGradient)
	}
	return attr, nil
}

// attend makes the result, and the logarithms that it returns.
func (c *call) attend(attr kernels.AttentionAttr) *Tensor {
	q, k, v := fourDims(c.operands[0].view), fourDims(c.operands[1].view), fourDims(c.operands[2].view)
	rank := c.operands[0].view.Rank
	dims := c.operands[0].view.Dims
	dims[rank-1] = v.Dims[3]
	c.result(q.DType, dims[:rank])
	if c.err != nil {
		return nil
	}
	args := kernels.NewArgs()
	args.Attr.Attention = attr
	args.In = append(args.In, q, k, v)
	if c.n == 4 {
		m := c.operands[3].view
		want := [4]int64{q.Dims[0], q.Dims[1], q.Dims[2], k.Dims[2]}
		if !broadcastsTo(&m, want[4-int(rank):]) {
			args.Put()
			c.err = fmt.Errorf("%w: the mask does not broadcast to %v", ErrShape, want[4-int(rank):])
			return nil
		}
		args.In = append(args.In, expanded(m, want[:]))
	}
	logs, err := newTensor(c.stream, c.env, logsumexpType(q.DType), q.Dims[:3])
	if err != nil {
		args.Put()
		c.err = err
		return nil
	}
	args.Out = append(args.Out, fourDims(c.out.view), logs.view)
	c.launch(kernels.Attention, args, logs)
	return logs
}

// broadcastsTo reports whether v has dims of dims or of 1, from the last on.
func broadcastsTo(v *kernels.View, dims []int64) bool {
	shift := len(dims) - int(v.Rank)
	for i, n := range v.Dims[:v.Rank] {
		if i+shift < 0 || n != 1 && n != dims[i+shift] {
			return false
		}
	}
	return true
}

// logsumexpType is what the logarithms of sums over elements of d are kept in.
func logsumexpType(d DType) DType {
	if d == Float64 {
		return Float64
	}
	return Float32
}

// fourDims returns v with dims of 1 before its own.
func fourDims(v kernels.View) kernels.View {
	w := kernels.View{Ptr: v.Ptr, DType: v.DType, Rank: 4, Dims: [kernels.MaxRank]int64{1, 1, 1, 1}}
	shift := 4 - int(v.Rank)
	copy(w.Dims[shift:], v.Dims[:v.Rank])
	copy(w.Strides[shift:], v.Strides[:v.Rank])
	return w
}

// attentionBackward makes all three gradients at once: they share the weights.
func attentionBackward(g *gradients) error {
	ins := []*Tensor{g.up}
	for i := range 3 {
		ins = append(ins, g.saved(i))
	}
	ins = append(ins, g.saved(attentionResult), g.saved(attentionResult+1))
	if g.n == 4 {
		ins = append(ins, g.saved(3))
	}
	args := kernels.NewArgs()
	defer args.Put()
	args.Attr.Attention = g.attr.attention
	for i, t := range ins {
		if t.err != nil {
			return t.err
		}
		switch i {
		case 5: // of rank 3 already
			args.In = append(args.In, t.view)
		case 6:
			q, k := &args.In[1], &args.In[2]
			args.In = append(args.In, expanded(t.view, []int64{q.Dims[0], q.Dims[1], q.Dims[2], k.Dims[2]}))
		default:
			args.In = append(args.In, fourDims(t.view))
		}
	}
	var outs [3]*Tensor
	release := func() error {
		var err error
		for i, t := range outs {
			if t != nil && g.out[i] != t {
				err = errors.Join(err, t.Release())
			}
		}
		return err
	}
	for i := range outs {
		of := ins[1+i]
		t, err := newTensor(g.stream, g.env, of.view.DType, of.view.Dims[:of.view.Rank])
		if err != nil {
			return errors.Join(err, release())
		}
		outs[i] = t
		args.Out = append(args.Out, fourDims(t.view))
	}
	if err := g.stream.launch(kernels.AttentionGrad, args, outs[:], ins); err != nil {
		return errors.Join(err, release())
	}
	for i := range outs {
		if g.needs(i) {
			g.put(i, outs[i])
		}
	}
	return release()
}
