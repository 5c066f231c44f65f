package tensor

import "fmt"

// Triu returns t with 0 below the k-th diagonal of its last two dims: what stays
// is at columns from row+k on.
func (t *Tensor) Triu(k int) *Tensor { return t.triangle("Triu", (*Tensor).Lt, k) }

// Tril returns t with 0 above the k-th diagonal of its last two dims: what stays
// is at columns up to row+k.
func (t *Tensor) Tril(k int) *Tensor { return t.triangle("Tril", (*Tensor).Gt, k) }

// triangle clears t where compare says so of the column and row+k.
func (t *Tensor) triangle(op string, compare func(column, row *Tensor) *Tensor, k int) *Tensor {
	err := t.usable()
	if err == nil && t.view.Rank < 2 {
		err = fmt.Errorf("%w: needs 2 dims", ErrShape)
	}
	if err != nil {
		return refused(op, err, t)
	}
	rank := int(t.view.Rank)
	rows, columns := t.Dim(rank-2), t.Dim(rank-1)
	k = min(max(k, -rows-1), columns+1) // all or nothing from there on
	like := t.Detach()
	defer like.Release()
	i, j := like.count(rows), like.count(columns)
	defer i.Release()
	defer j.Release()
	moved := i.AddScalar(float64(k))
	defer moved.Release()
	line := moved.Reshape(rows, 1)
	defer line.Release()
	mask := compare(j, line)
	defer mask.Release()
	return t.MaskedFill(mask, 0)
}

// count returns the numbers from 1 to n beside t, as int64.
func (t *Tensor) count(n int) *Tensor {
	ones, err := newTensor(t.dev.streamOf(t.env), t.env, Int64, []int64{int64(n)})
	if err == nil {
		defer ones.Release()
		err = fill(ones, 1)
	}
	if err != nil {
		return failed(newError("CumSum", err, t), t.dev, t.env, t.view)
	}
	return ones.CumSum(0)
}
