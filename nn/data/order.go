package data

import (
	"iter"
	"math/bits"
	"math/rand/v2"
)

// BatchOptions says how a set is cut into batches.
type BatchOptions struct {
	// Size is the number of examples of a batch, at least 1.
	Size int
	// Shuffle takes the examples in the Order of Seed and Epoch; without it
	// they come as they lie in the set.
	Shuffle bool
	Seed    uint64
	Epoch   int
	// DropLast leaves out the last batch where it would be shorter than Size.
	DropLast bool
}

func (o BatchOptions) check() error {
	if o.Size < 1 {
		return &ArgumentError{Name: "batch size", Value: o.Size, Want: "at least 1"}
	}
	return nil
}

// Batches returns the number of batches that n examples make.
func (o BatchOptions) Batches(n int) (int, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	count := n / o.Size
	if n%o.Size != 0 && !o.DropLast {
		count++
	}
	return count, nil
}

// Order returns the numbers 0 to n-1 in the order of an epoch. The same
// arguments give the same order on every machine and with every Go release: a
// training run can be repeated to the last bit.
func Order(n int, seed uint64, epoch int) []int {
	order := ascending(n)
	// The algorithm is spelled out because math/rand/v2 promises the output of
	// its PCG, but not how Shuffle uses it. The high word of the product is
	// uniform to within n/2^64.
	rng := rand.NewPCG(seed, uint64(epoch))
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(rng.Uint64(), uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// Indices yields, batch by batch, which examples of s a batch consists of. The
// slices are parts of one array and stay valid. Options that cannot be are
// yielded as the only error, an [*ArgumentError].
func (s *Set) Indices(o BatchOptions) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		count, err := o.Batches(s.Len())
		if err != nil {
			yield(nil, err)
			return
		}
		order := s.order(o)
		for b := range count {
			end := min((b+1)*o.Size, len(order))
			if !yield(order[b*o.Size:end:end], nil) {
				return
			}
		}
	}
}

func (s *Set) order(o BatchOptions) []int {
	if o.Shuffle {
		return Order(s.Len(), o.Seed, o.Epoch)
	}
	return ascending(s.Len())
}

func ascending(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
