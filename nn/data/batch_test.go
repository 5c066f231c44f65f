package data

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// live is the number of bytes that tensors hold on the CPU.
func live() int64 { return tensor.CPU().Memory().Stats().AllocatedBytes.All.Current }

func TestBatches(t *testing.T) {
	s, err := NewSet(images(7, 2, 3), labels(0, 1, 2, 3, 4, 5, 6), SetOptions{Classes: 7})
	require.NoError(t, err)
	before := live()
	o := BatchOptions{Size: 3, Shuffle: true, Seed: 1, Epoch: 2}
	order := Order(7, o.Seed, o.Epoch)
	for b, err := range s.Batches(tensor.CPU(), o) {
		require.NoError(t, err)
		n := min(3, len(order))
		require.Equal(t, tensor.Shape{n, 6}, b.X.Shape())
		require.Equal(t, tensor.Shape{n}, b.Y.Shape())
		x, err := tensor.Data[float32](b.X)
		require.NoError(t, err)
		y, err := tensor.Data[int64](b.Y)
		require.NoError(t, err)
		for i, example := range order[:n] {
			features, label := s.Example(example)
			require.Equal(t, features, x[6*i:6*(i+1)])
			require.Equal(t, label, y[i])
		}
		order = order[n:]
	}
	require.Empty(t, order, "all examples came")
	require.Equal(t, before, live(), "all batches are released")
}

// However a loop ends, and whatever it did with the batch, nothing is left.
func TestBatchesLeaveNothing(t *testing.T) {
	s := set(t, 10)
	before := live()
	for b := range s.Batches(tensor.CPU(), BatchOptions{Size: 2}) {
		require.Greater(t, live(), before)
		require.NotNil(t, b.X)
		break
	}
	require.Equal(t, before, live(), "after break")

	func() {
		defer func() { require.Equal(t, "stop", recover()) }()
		for range s.Batches(tensor.CPU(), BatchOptions{Size: 2}) {
			panic("stop")
		}
	}()
	require.Equal(t, before, live(), "after a panic in the loop")

	rounds := 0
	for _, err := range s.Batches(tensor.CPU(), BatchOptions{Size: 2}) {
		require.NoError(t, err)
		rounds++
	}
	require.Equal(t, 5, rounds)
	require.Equal(t, before, live(), "after the end")
}

func TestBatchesRefuseBatchSizes(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		before, rounds := live(), 0
		for b, err := range set(t, 5).Batches(tensor.CPU(), BatchOptions{Size: size}) {
			rounds++
			require.Equal(t, Batch{}, b)
			require.ErrorAs(t, err, new(*ArgumentError))
		}
		require.Equal(t, 1, rounds)
		require.Equal(t, before, live())
	}
}
