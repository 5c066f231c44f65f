//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/tensor"
)

// TestFormatInACapture says that there are no values yet, and the recording goes
// on.
func TestFormatInACapture(t *testing.T) {
	d := newSim(t, cudasim.Config{})[0]
	x := tensor.Ones(d, tensor.Float32, 3, 2)
	other := tensor.Full(tensor.CPU(), tensor.Float32, 5, 2)
	var y *tensor.Tensor
	var texts []string
	graph, err := tensor.Capture(d.DefaultStream(), func() error {
		y = x.T().MulScalar(2)
		texts = append(texts, fmt.Sprint(y), fmt.Sprintf("%+v", x.T()), fmt.Sprint(other))
		return y.Err()
	})
	require.NoError(t, err)
	require.Equal(t, "tensor([[2., 2., 2.],\n        [2., 2., 2.]])", texts[0], "the first run is no recording")
	require.Equal(t, "tensor(not possible in a capture: its values are being recorded)", texts[3])
	require.Contains(t, joined(texts[4]), texts[3][:len(texts[3])-1]+", dtype=float32, shape=[2, 3]")
	require.Equal(t, "tensor([5., 5.])", texts[5])
	require.NoError(t, errors.Join(x.Fill(3), graph.Replay()))
	require.Equal(t, "tensor([[6., 6., 6.],\n        [6., 6., 6.]])", fmt.Sprint(y))
	require.NoError(t, graph.Close())
}

// TestFormatWaits for the work of the tensor's stream.
func TestFormatWaits(t *testing.T) {
	d := newSim(t, cudasim.Config{})[0]
	s, err := d.NewStream()
	require.NoError(t, err)
	x := tensor.Zeros(s, tensor.Float32, 100, 100)
	for range 10 {
		x = x.AddScalar(1)
	}
	require.Contains(t, fmt.Sprint(x), "[10., 10., 10.,  ..., 10., 10., 10.]")
	require.NoError(t, x.Release())
	require.NoError(t, s.Close())
}
