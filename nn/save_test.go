package nn_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
	"tarn/tensor/npy"
)

// TestSaveAndLoad: parameters and running statistics come back, on every device, and
// a file is replaced whole.
func TestSaveAndLoad(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) {
			m, path := newResidual(t, open(t)), filepath.Join(t.TempDir(), "m.npz")
			x := tensor.Rand(m.factor.Device(), tensor.NewGenerator(3), tensor.Float32, 4, 3)
			require.NoError(t, m.Forward(x).Err()) // moves the running statistics
			require.NoError(t, os.WriteFile(path, []byte("the last one"), 0o600))
			require.NoError(t, nn.SaveFile(path, m))
			files, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, files, 1)
			other := newResidual(t, open(t))
			for _, p := range nn.State(other) {
				require.NoError(t, p.NoGrad().Fill(7))
			}
			require.NoError(t, nn.LoadFile(path, other))
			state := nn.State(other)
			for i, p := range nn.State(m) {
				require.Equal(t, data(t, p.Tensor), data(t, state[i].Tensor), p.Name)
			}
		})
	}
}

func data(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](x)
	require.NoError(t, err)
	return v
}

// TestLoadRefuses: what does not fit is named, and nothing is overwritten.
func TestLoadRefuses(t *testing.T) {
	d := newDevice(t)
	good := newResidual(t, d)
	archive := func(change func([]npy.Named) []npy.Named) *bytes.Reader {
		var all []npy.Named
		for _, p := range nn.State(good) {
			all = append(all, npy.Named{Name: p.Name, Tensor: p.Tensor})
		}
		var b bytes.Buffer
		require.NoError(t, npy.WriteZip(&b, npy.Deflated, change(all)...))
		return bytes.NewReader(b.Bytes())
	}
	m := newResidual(t, d)
	require.NoError(t, m.factor.NoGrad().Fill(5))
	for name, c := range map[string]struct {
		change func([]npy.Named) []npy.Named
		says   string
	}{
		"missing": {func(all []npy.Named) []npy.Named { return all[:len(all)-1] }, "has no norm.running_var"},
		"more": {func(all []npy.Named) []npy.Named {
			return append(all, npy.Named{Name: "down.bias", Tensor: good.factor})
		}, "there is a down.bias for nothing here"},
		"shape": {func(all []npy.Named) []npy.Named { all[3].Tensor = good.factor; return all }, "up.weight is float32 [1], not float32 [3, 3]"},
		"dtype": {func(all []npy.Named) []npy.Named { all[0].Tensor = good.factor.To(tensor.Float64); return all }, "factor is float64 [1], not float32 [1]"},
	} {
		r := archive(c.change)
		err := nn.Load(r, r.Size(), m)
		require.ErrorIs(t, err, nn.ErrState, name)
		require.ErrorContains(t, err, c.says)
	}
	require.Equal(t, []float32{5}, data(t, m.factor))

	path := filepath.Join(t.TempDir(), "m.npz")
	require.ErrorIs(t, nn.LoadFile(path, m), os.ErrNotExist)
	require.NoError(t, nn.Release(m))
	require.ErrorIs(t, nn.SaveFile(path, m), tensor.ErrReleased)
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, files)
	r := archive(func(all []npy.Named) []npy.Named { return all })
	require.ErrorIs(t, nn.Load(r, r.Size(), m), tensor.ErrReleased)
}
