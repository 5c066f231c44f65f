package data

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

func countingSet(t *testing.T, n int) *Set {
	t.Helper()
	images := &IDX{Name: "images", Dims: []int{n, 1, 2}, Data: make([]byte, 2*n)}
	labels := &IDX{Name: "labels", Dims: []int{n}, Data: make([]byte, n)}
	for i := range n {
		images.Data[2*i], labels.Data[i] = byte(i), byte(i)
	}
	s, err := NewSet(images, labels, SetOptions{Classes: n})
	require.NoError(t, err)
	return s
}

func TestBatchesYieldTheSetAsTensors(t *testing.T) {
	s := countingSet(t, 10)
	var sizes []int
	seen := map[int64]bool{}
	var last Batch
	for b, err := range s.Batches(tensor.CPU(), BatchOptions{Size: 4, Shuffle: true, Seed: 1}) {
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{b.Y.Len(), 2}, b.X.Shape())
		x, err := tensor.Data[float32](b.X)
		require.NoError(t, err)
		y, err := tensor.Data[int64](b.Y)
		require.NoError(t, err)
		for i, label := range y {
			require.Equal(t, float32(label)/255, x[2*i], "features and label belong together")
			require.False(t, seen[label])
			seen[label] = true
		}
		sizes = append(sizes, len(y))
		last = b
	}
	require.Equal(t, []int{4, 4, 2}, sizes)
	require.Len(t, seen, 10)
	_, err := last.X.Item()
	require.ErrorIs(t, err, tensor.ErrReleased, "the iterator owned it")
}

func TestBatchesStopEarlyWithoutALeak(t *testing.T) {
	s := countingSet(t, 10)
	before := tensor.CPU().Memory().Stats().AllocatedBytes.All.Current
	for b, err := range s.Batches(tensor.CPU(), BatchOptions{Size: 3}) {
		require.NoError(t, err)
		require.NoError(t, b.X.Err())
		break
	}
	require.Equal(t, before, tensor.CPU().Memory().Stats().AllocatedBytes.All.Current)
}

func TestBatchesOfNoSize(t *testing.T) {
	for _, size := range []int{0, -1} {
		n := 0
		for _, err := range countingSet(t, 3).Batches(tensor.CPU(), BatchOptions{Size: size}) {
			var bad *ArgumentError
			require.ErrorAs(t, err, &bad)
			require.ErrorContains(t, err, "batch size")
			n++
		}
		require.Equal(t, 1, n, "the error, once")
	}
}

func TestBatchesOnADeviceThatIsFull(t *testing.T) {
	closed := tensor.NewScope()
	require.NoError(t, closed.Close())
	n := 0
	for _, err := range countingSet(t, 3).Batches(tensor.CPU().In(closed), BatchOptions{Size: 2}) {
		require.ErrorIs(t, err, tensor.ErrReleased)
		n++
	}
	require.Equal(t, 1, n)
}
