package cpu

import (
	"math"

	"tarn/kernels"
)

// attn is one call of Attention or AttentionGrad.
type attn[T float] struct {
	q, k, v, o, logsumexp, mask   *kernels.View // mask nil if there is none
	do, dq, dk, dv                *kernels.View // of the gradient
	own                           uintptr       // of the gradient: the sum of do*o of each row, dense
	batch, heads, groups, queries int64
	keys, width, valueWidth       int64
	scale                         T
	causal                        bool
}

func newAttn[T float](q, k, v, o, logsumexp *kernels.View, rest []kernels.View, attr kernels.AttentionAttr) attn[T] {
	a := attn[T]{q: q, k: k, v: v, o: o, logsumexp: logsumexp,
		batch: q.Dims[0], heads: q.Dims[1], groups: k.Dims[1], queries: q.Dims[2],
		keys: k.Dims[2], width: q.Dims[3], valueWidth: v.Dims[3], scale: T(attr.Scale), causal: attr.Causal}
	if len(rest) > 0 {
		a.mask = &rest[0]
	}
	return a
}

// lastDim returns the address of the elements along the last dim of v at an
// index of the dims before, and the bytes from one to the next.
func lastDim(v *kernels.View, b, h, i int64) (addr uintptr, step int64) {
	size := v.DType.Size()
	return v.Ptr + uintptr((b*v.Strides[0]+h*v.Strides[1]+i*v.Strides[2])*size), v.Strides[3] * size
}

// rowNumber returns the address of the element of v, of rank 3, at an index.
func rowNumber[T float](v *kernels.View, b, h, i int64) *T {
	return at[T](v.Ptr, b*v.Strides[0]+h*v.Strides[1]+i*v.Strides[2], sizeOf[T]())
}

func dot[T float](x uintptr, xstep int64, y uintptr, ystep, n int64) (sum T) {
	if xstep == sizeOf[T]() && ystep == xstep {
		a, b := dense[T](x, n), dense[T](y, n)
		for i, v := range a {
			sum += v * b[i]
		}
		return sum
	}
	for i := range n {
		sum += *at[T](x, i, xstep) * *at[T](y, i, ystep)
	}
	return sum
}

// addScaled adds by times x to out.
func addScaled[T float](out uintptr, outstep int64, by T, x uintptr, xstep, n int64) {
	if outstep == sizeOf[T]() && xstep == outstep {
		to, from := dense[T](out, n), dense[T](x, n)
		for i, v := range from {
			to[i] += by * v
		}
		return
	}
	for i := range n {
		*at[T](out, i, outstep) += by * *at[T](x, i, xstep)
	}
}

func multiplyBy[T float](x uintptr, step int64, by T, n int64) {
	for i := range n {
		*at[T](x, i, step) *= by
	}
}

func clearVector[T float](x uintptr, step, n int64) {
	for i := range n {
		*at[T](x, i, step) = 0
	}
}

// attnRow is a query on its way through the keys.
type attnRow struct{ b, h, g, i int64 }

// rowAt returns row n of all.
func (a *attn[T]) rowAt(n int64) attnRow {
	h := n / a.queries % a.heads
	return attnRow{n / a.queries / a.heads, h, h / (a.heads / a.groups), n % a.queries}
}

// seen returns how many keys a query sees but for the mask.
func (a *attn[T]) seen(i int64) int64 {
	if a.causal {
		return min(i+1, a.keys)
	}
	return a.keys
}

// score is that of a row and key j; -Inf if the mask hides the key.
func (a *attn[T]) score(r attnRow, j int64) T {
	q, qstep := lastDim(a.q, r.b, r.h, r.i)
	k, kstep := lastDim(a.k, r.b, r.g, j)
	x := a.scale * dot[T](q, qstep, k, kstep, a.width)
	if a.mask == nil {
		return x
	}
	m, step := lastDim(a.mask, r.b, r.h, r.i)
	switch {
	case a.mask.DType != kernels.Bool:
		return x + *at[T](m, j, step)
	case *at[uint8](m, j, step) == 0:
		return T(math.Inf(-1))
	}
	return x
}

func attentionWorkspace(args *kernels.Args) int64 {
	if c := bodiesInC(); c != nil && args.Out[0].DType == kernels.Float32 {
		return c.attentionWork(kernels.Attention, args)
	}
	return 0
}

// attention is the body of Attention.
func attention[T float](args *kernels.Args) error {
	if c := inC[T](minRun); c != nil {
		c.attention(kernels.Attention, args)
		return nil
	}
	a := newAttn[T](&args.In[0], &args.In[1], &args.In[2], &args.Out[0], &args.Out[1], args.In[3:], args.Attr.Attention)
	rows := a.batch * a.heads * a.queries
	grain := max(serialBelow/max(a.keys*(a.width+a.valueWidth), 1), 1)
	if chunks(rows, grain) <= 1 {
		a.forward(0, rows)
		return nil
	}
	shared := a
	parallel(rows, grain, func(lo, hi int64) { shared.forward(lo, hi) })
	return nil
}

// forward makes the rows lo to hi. The scores of a block of keys at a time
// are turned to weights relative to the largest so far; when that grows, what has
// been added up is scaled down (Milakov and Gimelshein, 2018).
func (a *attn[T]) forward(lo, hi int64) {
	var block [blockLen]T
	for n := lo; n < hi; n++ {
		r := a.rowAt(n)
		o, ostep := lastDim(a.o, r.b, r.h, r.i)
		clearVector[T](o, ostep, a.valueWidth)
		top, sum := math.Inf(-1), 0.0
		for j0, keys := int64(0), a.seen(r.i); j0 < keys; j0 += blockLen {
			p := block[:min(keys-j0, blockLen)]
			before := top
			for j := range p {
				p[j] = a.score(r, j0+int64(j))
				if x := float64(p[j]); x > top {
					top = x
				}
			}
			relative := top
			if math.IsInf(top, -1) {
				relative = 0 // all are -Inf, or NaN
			}
			if before != top {
				shrink := math.Exp(before - relative)
				sum *= shrink
				multiplyBy(o, ostep, T(shrink), a.valueWidth)
			}
			for j := range p {
				w := math.Exp(float64(p[j]) - relative)
				if w == 0 {
					continue
				}
				sum += w
				v, vstep := lastDim(a.v, r.b, r.g, j0+int64(j))
				addScaled(o, ostep, T(w), v, vstep, a.valueWidth)
			}
		}
		if sum != 0 {
			multiplyBy(o, ostep, T(1/sum), a.valueWidth)
		}
		*rowNumber[T](a.logsumexp, r.b, r.h, r.i) = T(top + math.Log(sum))
	}
}
