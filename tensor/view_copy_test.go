package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestViewRefusesOnlyWhatNeedsACopy: strides for a shape exist where the places
// of the elements in memory are a sum of steps along its dims.
func TestViewRefusesOnlyWhatNeedsACopy(t *testing.T) {
	d := newCPU(t)
	s := tensor.NewScope()
	made := map[bool]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := indexMap{shape: []int{1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(4)}}
		for i := range tensor.Shape(m.shape).Len() {
			m.from = append(m.from, i)
		}
		x := tensor.FromSlice(d.In(s), ramp(0, len(m.from)), m.shape...)
		name := fmt.Sprint("seed ", seed, ": ", m.shape)
		for range r.IntN(4) {
			next := drawStep(r, m)
			if strings.HasPrefix(next.name, "Flatten") {
				continue // it may copy, and then the places are others
			}
			m, x = next.m, next.run(x)
			name += " " + next.name
		}
		if len(m.from) == 0 {
			continue
		}
		shape := drawShape(r, len(m.from))
		want := hasStrides(m.from, shape)
		made[want]++
		y := x.View(shape...)
		require.Equal(t, want, y.Err() == nil, "%s to %v: %v", name, shape, y.Err())
		require.Equal(t, data64(t, x), data64(t, x.Reshape(shape...)), name)
	}
	require.Greater(t, made[true], 300)
	require.Greater(t, made[false], 300)
	require.NoError(t, s.Close())
}

// drawShape draws factors of n, and dims of 1, in any order.
func drawShape(r *rand.Rand, n int) []int {
	shape := []int{}
	for n > 1 && len(shape) < 4 {
		f := 1 + r.IntN(n)
		if n%f == 0 {
			shape, n = append(shape, f), n/f
		}
	}
	return append(shape, n)
}

// hasStrides reports whether elements that lie at these places have the shape by
// strides alone.
func hasStrides(places, shape []int) bool {
	strides, unit := make([]int, len(shape)), 1
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] > 1 {
			strides[d] = places[unit] - places[0]
		}
		unit *= shape[d]
	}
	for k, place := range places {
		at, rest := places[0], k
		for d := len(shape) - 1; d >= 0; d-- {
			at, rest = at+rest%shape[d]*strides[d], rest/shape[d]
		}
		if at != place {
			return false
		}
	}
	return true
}
