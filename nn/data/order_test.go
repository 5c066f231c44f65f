package data

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The orders are part of what a seed means: a change breaks the promise that a
// run can be repeated. The values come from a PCG-DXSM written in another
// language.
func TestOrderIsPinned(t *testing.T) {
	require.Equal(t, []int{7, 6, 1, 3, 2, 4, 8, 9, 0, 5}, Order(10, 1, 0))
	require.Equal(t, []int{2, 5, 8, 3, 4, 1, 7, 6, 0, 9}, Order(10, 1, 1))
	require.Equal(t, []int{4, 2, 9, 5, 8, 0, 1, 3, 7, 6}, Order(10, 2, 0))
	require.Equal(t, []int{52669, 16376, 29897, 8850, 42017}, Order(60000, 1, 0)[:5])
}

func TestOrderIsAPermutation(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		order := Order(n, 42, 3)
		slices.Sort(order)
		require.Equal(t, ascending(n), order)
	}
}

// Each element is equally often at each place: a chi-squared test with a fixed
// seed, so that it says the same each time.
func TestOrderIsUniform(t *testing.T) {
	const n, epochs = 8, 8000
	var count [n][n]float64
	for e := range epochs {
		for place, x := range Order(n, 7, e) {
			count[place][x]++
		}
	}
	chi := 0.0
	for _, row := range count {
		for _, c := range row {
			chi += (c - epochs/n) * (c - epochs/n) / (epochs / n)
		}
	}
	// 49 degrees of freedom: 1 in 1000 random permutations is above 85.4.
	require.Less(t, chi, 85.4)
}

func set(t *testing.T, n int) *Set {
	classes := make([]byte, n)
	for i := range classes {
		classes[i] = byte(i % 10)
	}
	s, err := NewSet(images(n, 1, 1), labels(classes...), SetOptions{Classes: 10})
	require.NoError(t, err)
	return s
}

func TestIndices(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		o     BatchOptions
		sizes []int
	}{
		"even":                  {6, BatchOptions{Size: 3}, []int{3, 3}},
		"short last":            {7, BatchOptions{Size: 3}, []int{3, 3, 1}},
		"short last dropped":    {7, BatchOptions{Size: 3, DropLast: true}, []int{3, 3}},
		"even, nothing to drop": {6, BatchOptions{Size: 3, DropLast: true}, []int{3, 3}},
		"larger than the set":   {2, BatchOptions{Size: 3}, []int{2}},
		"largest":               {2, BatchOptions{Size: math.MaxInt}, []int{2}},
		"larger, dropped":       {2, BatchOptions{Size: 3, DropLast: true}, nil},
		"no examples":           {0, BatchOptions{Size: 3}, nil},
		"one by one":            {3, BatchOptions{Size: 1, Shuffle: true}, []int{1, 1, 1}},
		"shuffled":              {7, BatchOptions{Size: 3, Shuffle: true, Seed: 5}, []int{3, 3, 1}},
	} {
		want := ascending(c.n)
		if c.o.Shuffle {
			want = Order(c.n, c.o.Seed, c.o.Epoch)
		}
		var sizes, got []int
		for batch, err := range set(t, c.n).Indices(c.o) {
			require.NoError(t, err, name)
			sizes, got = append(sizes, len(batch)), append(got, batch...)
		}
		require.Equal(t, c.sizes, sizes, name)
		if c.o.DropLast {
			want = want[:len(got)]
		}
		require.Equal(t, len(want), len(got), name)
		for i := range want {
			require.Equal(t, want[i], got[i], name)
		}
		count, err := c.o.Batches(c.n)
		require.NoError(t, err, name)
		require.Equal(t, len(c.sizes), count, name)
	}
}

func TestIndicesOfEpochsDiffer(t *testing.T) {
	s := set(t, 50)
	first := func(o BatchOptions) []int {
		for batch := range s.Indices(o) {
			return batch
		}
		return nil
	}
	o := BatchOptions{Size: 50, Shuffle: true, Seed: 1}
	again, epoch, seed := o, o, o
	epoch.Epoch, seed.Seed = 1, 2
	require.Equal(t, first(o), first(again))
	require.NotEqual(t, first(o), first(epoch))
	require.NotEqual(t, first(o), first(seed))
}

func TestIndicesStopWhenAsked(t *testing.T) {
	n := 0
	for range set(t, 10).Indices(BatchOptions{Size: 2}) {
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
}

// A batch can be appended to without a change of the next one.
func TestIndicesDoNotOverlap(t *testing.T) {
	var all [][]int
	for batch := range set(t, 4).Indices(BatchOptions{Size: 2}) {
		all = append(all, batch)
		_ = append(batch, -1)
	}
	require.Equal(t, [][]int{{0, 1}, {2, 3}}, all)
}

func TestIndicesRefuseBatchSizes(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		for _, n := range []int{0, 5} {
			rounds := 0
			for batch, err := range set(t, n).Indices(BatchOptions{Size: size}) {
				rounds++
				require.Nil(t, batch)
				var bad *ArgumentError
				require.ErrorAs(t, err, &bad)
				require.Equal(t, &ArgumentError{Name: "batch size", Value: size, Want: "at least 1"}, bad)
			}
			require.Equal(t, 1, rounds, "the error comes once, and alone")
		}
	}
}
