package gpu

import (
	"math"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	attentionModule = declare("attention", 0)

	attentionKernels = byDType[attentions]{f32: attentionsOf("f32"), f64: attentionsOf("f64")}
)

type attentions struct{ forward, own, queries, keys kernel }

func attentionsOf(dtype string) attentions {
	name := "attention_grad_" + dtype
	return attentions{
		forward: attentionModule.kernel("attention_" + dtype),
		own:     attentionModule.kernel(name + "_own"),
		queries: attentionModule.kernel(name + "_queries"),
		keys:    attentionModule.kernel(name + "_keys"),
	}
}

const attentionThreads = 256

// attentionTile is the side of a tile of scores.
func attentionTile(d kernels.DType) int64 {
	if d == kernels.Float64 {
		return 32
	}
	return 64
}

// attentionCall is struct Attention of attention.cuh; a view may be missing.
type attentionCall struct {
	q, k, v, o, logsumexp, given, dq, dk, dv, mask *kernels.View

	own  uintptr
	attr kernels.AttentionAttr
}

func (c *attentionCall) maskOf(rest []kernels.View) {
	if len(rest) > 0 {
		c.mask = &rest[0]
	}
}

// run queues one of the kernels, in so many blocks.
func (c *attentionCall) run(k *Kernels, s cuda.Stream, x kernel, blocks int64, threads [2]uint32) error {
	if blocks == 0 {
		return nil
	}
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	for _, v := range []*kernels.View{c.q, c.k, c.v, c.o, c.logsumexp, c.given, c.dq, c.dk, c.dv} {
		passHeads(l, v)
	}
	l.Ptr(cuda.DevicePtr(c.own))
	passHeads(l, c.mask)
	for _, n := range []int64{c.q.Dims[0], c.q.Dims[1], c.k.Dims[1], c.q.Dims[2], c.k.Dims[2], c.q.Dims[3], c.v.Dims[3]} {
		l.Int64(n)
	}
	l.Uint64(math.Float64bits(c.attr.Scale))
	l.Uint32(bit(c.mask != nil && c.mask.DType == kernels.Bool)).Uint32(bit(c.attr.Causal))
	return l.Run(s, k.grid(blocks, threads[0], threads[1]))
}

// passHeads adds a struct Heads, of zeros for no view.
func passHeads(l *cuda.Launch, v *kernels.View) {
	if v == nil {
		v = &kernels.View{}
	}
	l.Ptr(cuda.DevicePtr(v.Ptr))
	for _, s := range v.Strides[:4] {
		l.Int64(s)
	}
}

// blocks returns how many blocks make n rows of each of so many heads, of a
// width that several may share.
func (c *attentionCall) blocks(heads, n, width int64) int64 {
	side := attentionTile(c.q.DType)
	return c.q.Dims[0] * heads * ((n + side - 1) / side) * max((width+side-1)/side, 1)
}

func (k *Kernels) attention(s cuda.Stream, a *kernels.Args) error {
	c := attentionCall{q: &a.In[0], k: &a.In[1], v: &a.In[2], o: &a.Out[0], logsumexp: &a.Out[1], attr: a.Attr.Attention}
	c.maskOf(a.In[3:])
	x := attentionKernels.of(c.q.DType)
	return c.run(k, s, x.forward, c.blocks(c.q.Dims[1], c.q.Dims[2], c.v.Dims[3]), [2]uint32{attentionThreads, 1})
}

// attentionGradWorkspace asks for the sum of do*o of each row.
func (k *Kernels) attentionGradWorkspace(a *kernels.Args) int64 {
	return a.In[5].Len() * a.Out[0].DType.Size()
}

func (k *Kernels) attentionGrad(s cuda.Stream, a *kernels.Args) error {
	c := attentionCall{q: &a.In[1], k: &a.In[2], v: &a.In[3], o: &a.In[4], logsumexp: &a.In[5], given: &a.In[0],
		dq: &a.Out[0], dk: &a.Out[1], dv: &a.Out[2], own: a.Work.Ptr, attr: a.Attr.Attention}
	c.maskOf(a.In[6:])
	x := attentionKernels.of(c.q.DType)
	queries, keys := c.q.Dims[2], c.k.Dims[2]
	square := [2]uint32{attentionThreads, 1}
	if err := c.run(k, s, x.own, (a.In[5].Len()+blockWarps-1)/blockWarps, [2]uint32{warp, blockWarps}); err != nil {
		return err
	}
	if err := c.run(k, s, x.queries, c.blocks(c.q.Dims[1], queries, c.q.Dims[3]), square); err != nil {
		return err
	}
	return c.run(k, s, x.keys, c.blocks(c.k.Dims[1], keys, max(c.q.Dims[3], c.v.Dims[3])), square)
}
