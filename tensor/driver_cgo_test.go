//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/tensor"
)

// TestDriver is for machines with a GPU: what the simulated one does, the real
// one does too.
func TestDriver(t *testing.T) {
	if err := cuda.Probe(); err != nil {
		t.Skipf("no usable CUDA driver on this machine: %v", err)
	}
	open := func(t *testing.T, limit int64) *tensor.Device {
		d, err := tensor.OpenCUDA(0, memory.Config{Limit: limit})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, d.Memory().Check())
			if err := d.Close(); err != nil { // tensors may be left to the collector
				var live *memory.LiveBlocksError
				require.ErrorAs(t, err, &live)
			}
		})
		return d
	}
	t.Run("gradients", func(t *testing.T) { checkGradients(t, open(t, 0)) })
	t.Run("PyTorch", func(t *testing.T) { checkAgainstPyTorch(t, open(t, 0)) })
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("program ", seed), func(t *testing.T) { runProgram(t, open(t, 24<<20), seed) })
	}
	t.Run("everything", func(t *testing.T) { require.NoError(t, busy(open(t, 64<<20))) })
	t.Run("graph", func(t *testing.T) {
		d := open(t, 0)
		x := tensor.Zeros(d, tensor.Float32, 1000)
		var y *tensor.Tensor
		g, err := tensor.Capture(d.DefaultStream(), func() error {
			y = x.AddScalar(1).Sum()
			return y.Err()
		})
		require.NoError(t, err)
		for i := range 5 {
			require.NoError(t, errors.Join(x.Fill(float64(i)), g.Replay()))
			got, err := y.Item()
			require.NoError(t, err)
			require.EqualValues(t, 1000*(i+1), got)
		}
		require.NoError(t, g.Close())
	})
}
