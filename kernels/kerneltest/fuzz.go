package kerneltest

import (
	"math/rand/v2"
	"testing"

	"tarn/kernels"
)

// Fuzz makes a call from each input of f, good or bad, and compares table with
// the reference on it: results, errors and untouched bytes.
func Fuzz(f *testing.F, table *kernels.Table) { FuzzOn(f, table, Host()) }

// FuzzOn is Fuzz on a place.
func FuzzOn(f *testing.F, table *kernels.Table, place Place) {
	seeds := rand.New(rand.NewPCG(1, 2))
	for id := range byte(kernels.NumOps) {
		for range 8 {
			data := make([]byte, 24)
			for i := range data {
				data[i] = byte(seeds.Uint32())
			}
			data[0] = id
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := decode(&source{data: data})
		if table[c.id] == nil || !table[c.id].DTypes.Has(c.out[0].view.DType) {
			return
		}
		if err := c.compare(device{table, place}); err != nil {
			t.Fatal(err)
		}
	})
}

// source hands out the bytes of a fuzz input, and zeros after its end.
type source struct{ data []byte }

func (s *source) below(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// layout returns a layout for an input, or for an output if it must be
// writable.
func (s *source) layout(write bool) layout {
	if write {
		return writable[s.below(len(writable))]
	}
	return readable[s.below(len(readable))]
}

// dims returns up to six dims with at most some thousand elements.
func (s *source) dims() []int64 {
	small := []int64{1, 2, 3, 5, 0, 7, 16, 33, 65, 257}
	dims := make([]int64, s.below(7))
	n := int64(1)
	for i := range dims {
		dims[i] = small[s.below(len(small))]
		if n*dims[i] > 4000 {
			dims[i] = 2
		}
		n *= max(dims[i], 1)
	}
	return dims
}

// size returns a dim of a matrix.
func (s *source) size() int64 { return sizes[s.below(len(sizes))] % 66 }

// decode makes a call of the bytes.
func decode(src *source) *call {
	id := kernels.ID(src.below(kernels.NumOps))
	dtypes := byDType(id).List()
	d := dtypes[src.below(len(dtypes))]
	seed := uint64(src.below(256))
	s := &suite{rand: rand.New(rand.NewPCG(seed, 9)), id: id, dtype: d}
	values := []generator{uniform(s.rand), unruly(s.rand), ties(s.rand)}[src.below(3)]
	c := familyOf(id).decode(s, src, values)
	if src.below(4) == 3 {
		spoil(c, src)
	}
	return c
}

// spoil changes one thing about an operand; the call may be bad after it.
func spoil(c *call, src *source) {
	list := c.out
	if len(c.in) > 0 && src.below(2) == 1 {
		list = c.in
	}
	v := &list[src.below(len(list))].view
	switch src.below(5) {
	case 0:
		if c.id != kernels.Copy { // which takes any, but NaN to int64 has no right result
			v.DType, v.Rank = kernels.DType(src.below(5)), 0 // rank 0: never beyond its memory
		}
	case 1:
		v.Rank = int8(src.below(12) - 1)
		v.Dims = [kernels.MaxRank]int64{}
	case 2:
		if v.Rank > 0 {
			v.Dims[src.below(int(v.Rank))] = int64(-src.below(2))
		}
	case 3:
		v.Ptr++
	case 4:
		c.attr.Axis = src.below(9) - 1
		c.attr.Activation = kernels.Activation(src.below(3))
		c.attr.AdamW.Step = int64(src.below(2))
		c.attr.Conv.Stride[src.below(2)] = src.below(4)
		c.attr.Pool.Padding[src.below(2)] = src.below(4)
	}
}
