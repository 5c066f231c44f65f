package ref

import (
	"math"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// attended are the operands that Attention and its gradient share, dense.
type attended struct {
	q, k, v, mask                 [][]float64 // rows by index; mask nil where there is none
	batch, heads, groups, queries int64
	keys                          int64
	hides                         bool // the mask is of bools
	attr                          kernels.AttentionAttr
}

func newAttended(q, k, v *kernels.View, rest []kernels.View, attr kernels.AttentionAttr) attended {
	a := attended{q: rowsOf(q), k: rowsOf(k), v: rowsOf(v), attr: attr,
		batch: q.Dims[0], heads: q.Dims[1], groups: k.Dims[1], queries: q.Dims[2], keys: k.Dims[2]}
	if len(rest) > 0 {
		a.mask, a.hides = rowsOf(&rest[0]), rest[0].DType == kernels.Bool
	}
	return a
}

// rowsOf returns the rows of v along its last dim, in row-major order.
func rowsOf(v *kernels.View) [][]float64 {
	var rows [][]float64
	outer := *v
	outer.Rank--
	each(&outer, func(i []int64) {
		row := make([]float64, v.Dims[outer.Rank])
		for j := range row {
			row[j] = value(v, append(i, int64(j))...)
		}
		rows = append(rows, row)
	})
	return rows
}

// each calls f with each row of q, and the first of the rows of k that it
// looks at.
func (a *attended) each(f func(row, key int64)) {
	for row := range a.batch * a.heads * a.queries {
		b, h := row/a.queries/a.heads, row/a.queries%a.heads
		f(row, (b*a.groups+h/(a.heads/a.groups))*a.keys)
	}
}

func dot(x, y []float64) float64 {
	var sum exact
	for i := range x {
		sum.add(x[i] * y[i])
	}
	return sum.value()
}

// score is that of a row and the j-th of the keys from key on, -Inf where it is
// not seen.
func (a *attended) score(row, key, j int64) float64 {
	if a.attr.Causal && j > row%a.queries || a.hides && a.mask[row][j] == 0 {
		return math.Inf(-1)
	}
	x := a.attr.Scale * dot(a.q[row], a.k[key+j])
	if a.mask != nil && !a.hides {
		x += a.mask[row][j]
	}
	return x
}

func attention(args *kernels.Args) error {
	a := newAttended(&args.In[0], &args.In[1], &args.In[2], args.In[3:], args.Attr.Attention)
	o, logsumexp := newSums(&args.Out[0]), newSums(&args.Out[1])
	p := make([]float64, a.keys)
	a.each(func(row, key int64) {
		top := math.Inf(-1)
		for j := range p {
			p[j] = a.score(row, key, int64(j))
			top = scalar.Larger(top, p[j])
		}
		var sum exact
		for j := range p {
			if p[j] = math.Exp(p[j] - top); math.IsInf(top, -1) {
				p[j] = 0
			}
			sum.add(p[j])
		}
		logsumexp.of(row)[0].add(top + math.Log(sum.value()))
		for j := range p {
			if p[j] == 0 {
				continue
			}
			for e, x := range a.v[key+int64(j)] {
				o.of(row)[e].add(p[j] / sum.value() * x)
			}
		}
	})
	o.store()
	logsumexp.store()
	return nil
}

func attentionGrad(args *kernels.Args) error {
	in := args.In
	a := newAttended(&in[1], &in[2], &in[3], in[6:], args.Attr.Attention)
	do, o := rowsOf(&in[0]), rowsOf(&in[4])
	var logsumexp []float64
	each(&in[5], func(i []int64) { logsumexp = append(logsumexp, value(&in[5], i...)) })
	dq, dk, dv := newSums(&args.Out[0]), newSums(&args.Out[1]), newSums(&args.Out[2])
	a.each(func(row, key int64) {
		own := dot(do[row], o[row])
		for j := range a.keys {
			score := a.score(row, key, j)
			if math.IsInf(score, -1) || math.IsInf(logsumexp[row], -1) {
				continue
			}
			p := math.Exp(score - logsumexp[row])
			ds := a.attr.Scale * p * (dot(do[row], a.v[key+j]) - own)
			for e, x := range do[row] {
				dv.of(key + j)[e].add(p * x)
			}
			for d := range a.q[row] {
				dq.of(row)[d].add(ds * a.k[key+j][d])
				dk.of(key + j)[d].add(ds * a.q[row][d])
			}
		}
	})
	dq.store()
	dk.store()
	dv.store()
	return nil
}

// sums adds up what becomes the elements of a view. One of rank 3 has rows of
// one element.
type sums struct {
	view  *kernels.View
	width int64
	total []exact
}

func newSums(v *kernels.View) sums {
	s := sums{v, 1, make([]exact, v.Len())}
	if v.Rank == 4 {
		s.width = v.Dims[3]
	}
	return s
}

func (s *sums) of(row int64) []exact { return s.total[row*s.width : (row+1)*s.width] }

func (s *sums) store() {
	n := 0
	each(s.view, func(i []int64) {
		set(s.view, s.total[n].value(), i...)
		n++
	})
}
