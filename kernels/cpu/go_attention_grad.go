package cpu

import (
	"math"

	"tarn/kernels"
)

func attentionGradWorkspace(args *kernels.Args) int64 {
	if c := bodiesInC(); c != nil && args.Out[0].DType == kernels.Float32 && args.In[1].Dims[1] > 0 {
		return c.attentionWork(kernels.AttentionGrad, args)
	}
	return args.In[5].Len() * args.Out[0].DType.Size()
}

// attentionGrad is the body of AttentionGrad: dq by rows, dk and dv by keys, so
// that each element is added up by one goroutine, in order.
func attentionGrad[T float](args *kernels.Args) error {
	if c := inC[T](minRun); c != nil && args.In[1].Dims[1] > 0 { // without heads no one makes dk and dv in C
		c.attention(kernels.AttentionGrad, args)
		return nil
	}
	in := args.In
	a := newAttn[T](&in[1], &in[2], &in[3], &in[4], &in[5], in[6:], args.Attr.Attention)
	a.do, a.dq, a.dk, a.dv, a.own = &in[0], &args.Out[0], &args.Out[1], &args.Out[2], args.Work.Ptr
	rows, keys := a.batch*a.heads*a.queries, a.batch*a.groups*a.keys
	rowGrain := max(serialBelow/max(a.keys*(a.width+a.valueWidth), 1), 1)
	keyGrain := max(serialBelow/max(a.queries*(a.width+a.valueWidth), 1), 1)
	if chunks(rows, rowGrain) <= 1 && chunks(keys, keyGrain) <= 1 {
		a.rowGradients(0, rows)
		a.keyGradients(0, keys)
		return nil
	}
	shared := a
	parallel(rows, rowGrain, func(lo, hi int64) { shared.rowGradients(lo, hi) })
	parallel(keys, keyGrain, func(lo, hi int64) { shared.keyGradients(lo, hi) })
	return nil
}

// weight returns the weight of key j in a row, and its score's gradient, given
// the row's sum of do*o.
func (a *attn[T]) weight(r attnRow, j int64, own T) (p, ds T) {
	logsumexp := float64(*rowNumber[T](a.logsumexp, r.b, r.h, r.i))
	if math.IsInf(logsumexp, -1) {
		return 0, 0
	}
	p = T(math.Exp(float64(a.score(r, j)) - logsumexp))
	if p == 0 {
		return 0, 0
	}
	do, dostep := lastDim(a.do, r.b, r.h, r.i)
	v, vstep := lastDim(a.v, r.b, r.g, j)
	return p, a.scale * p * (dot[T](do, dostep, v, vstep, a.valueWidth) - own)
}

// rowGradients makes own and dq of the rows lo to hi.
func (a *attn[T]) rowGradients(lo, hi int64) {
	for n := lo; n < hi; n++ {
		r := a.rowAt(n)
		do, dostep := lastDim(a.do, r.b, r.h, r.i)
		o, ostep := lastDim(a.o, r.b, r.h, r.i)
		own := dot[T](do, dostep, o, ostep, a.valueWidth)
		*at[T](a.own, n, sizeOf[T]()) = own
		dq, dqstep := lastDim(a.dq, r.b, r.h, r.i)
		clearVector[T](dq, dqstep, a.width)
		for j := range a.seen(r.i) {
			if _, ds := a.weight(r, j, own); ds != 0 {
				k, kstep := lastDim(a.k, r.b, r.g, j)
				addScaled(dq, dqstep, ds, k, kstep, a.width)
			}
		}
	}
}

// keyGradients makes dk and dv of the keys lo to hi of all.
func (a *attn[T]) keyGradients(lo, hi int64) {
	share := int64(1)
	if a.groups > 0 {
		share = a.heads / a.groups
	}
	for n := lo; n < hi; n++ {
		b, g, j := n/a.keys/a.groups, n/a.keys%a.groups, n%a.keys
		dk, dkstep := lastDim(a.dk, b, g, j)
		dv, dvstep := lastDim(a.dv, b, g, j)
		clearVector[T](dk, dkstep, a.width)
		clearVector[T](dv, dvstep, a.valueWidth)
		first := int64(0)
		if a.causal {
			first = j
		}
		for h := g * share; h < (g+1)*share; h++ {
			for i := first; i < a.queries; i++ {
				r := attnRow{b, h, g, i}
				own := *at[T](a.own, (b*a.heads+h)*a.queries+i, sizeOf[T]())
				p, ds := a.weight(r, j, own)
				if p == 0 {
					continue
				}
				q, qstep := lastDim(a.q, b, h, i)
				do, dostep := lastDim(a.do, b, h, i)
				addScaled(dk, dkstep, ds, q, qstep, a.width)
				addScaled(dv, dvstep, p, do, dostep, a.valueWidth)
			}
		}
	}
}
