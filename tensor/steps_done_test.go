package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestStepsSetDone: an AdamW that is told of the steps of another goes on as that
// does, to the last bit, and counts each parameter by itself.
func TestStepsSetDone(t *testing.T) { onDevices(t, checkStepsSetDone) }

func checkStepsSetDone(t *testing.T, d *tensor.Device) {
	step := func(a *adam, params ...*tensor.Tensor) {
		for _, p := range params {
			require.NoError(t, p.Mul(p).Sum().Backward())
		}
		require.NoError(t, a.step())
		for _, p := range params {
			require.NoError(t, p.ZeroGrad())
		}
	}
	ones := func() *tensor.Tensor { return tensor.Ones(d, tensor.Float32, 3).RequireGrad() }
	v, w, z := ones(), ones(), ones()
	a := newAdam(v, w, z)
	step(a, v, w)
	step(a, w)
	done := func(s *tensor.Steps, params ...*tensor.Tensor) (all []int64) {
		for _, p := range params {
			n, err := s.Done(p)
			require.NoError(t, err)
			all = append(all, n)
		}
		return all
	}
	require.Equal(t, []int64{1, 2, 0}, done(&a.steps, v, w, z))

	v2, w2, z2 := ones(), ones(), ones()
	b := newAdam(v2, w2, z2)
	step(b, v2, w2, z2)
	for i, p := range a.params {
		require.NoError(t, b.params[i].NoGrad().CopyInPlace(p.NoGrad()))
		require.NoError(t, b.first[i].CopyInPlace(a.first[i]))
		require.NoError(t, b.second[i].CopyInPlace(a.second[i]))
	}
	require.NoError(t, b.steps.SetDone(b.params, done(&a.steps, a.params...)))
	step(a, v, w, z)
	step(b, v2, w2, z2)
	require.Equal(t, []int64{2, 3, 1}, done(&b.steps, v2, w2, z2))
	for i, p := range a.params {
		require.Equal(t, data32(t, p.Detach()), data32(t, b.params[i].Detach()))
	}

	require.ErrorIs(t, b.steps.SetDone(b.params, []int64{1}), tensor.ErrShape)
	require.ErrorIs(t, b.steps.SetDone(b.params, []int64{1, 2, -1}), tensor.ErrValue)
	require.Equal(t, []int64{2, 3, 1}, done(&b.steps, v2, w2, z2))
	require.NoError(t, b.steps.Release())
	require.NoError(t, a.steps.Release())
}
