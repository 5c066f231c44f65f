//go:build cgo && (linux || darwin)

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// TestPagesAreMoved: what the first stream has freed, with work on it queued, is
// every second page. The second stream needs three side by side, which there are
// only when these are mapped anew.
func TestPagesAreMoved(t *testing.T) {
	for seed := range uint64(2) {
		machine, err := cudasim.Open(cudasim.Config{Memory: capacity, Delays: seed})
		require.NoError(t, err)
		device, err := machine.Library().Device(0)
		require.NoError(t, err)
		context, err := device.Open()
		require.NoError(t, err)
		dev, err := tensor.NewCUDA(context, memory.Config{})
		require.NoError(t, err)

		movePages(t, dev)

		require.NoError(t, dev.Memory().Check())
		require.NoError(t, dev.Close())
		require.NoError(t, context.Close())
		require.NoError(t, machine.Close())
		require.Empty(t, machine.Reports())
	}
}

func movePages(t *testing.T, dev *tensor.Device) {
	first, err := dev.NewStream()
	require.NoError(t, err)
	second, err := dev.NewStream()
	require.NoError(t, err)
	var held [7]*tensor.Tensor // of a page each; one page is left for small things
	for i := range held {
		held[i] = tensor.Full(first, tensor.Float32, float64(i), elements)
		require.NoError(t, held[i].AddInPlace(held[0]))
	}
	for i := 1; i < len(held); i += 2 {
		require.NoError(t, held[i].Release())
	}
	wide := tensor.Full(second, tensor.Float32, 7, 3*elements)
	require.NoError(t, wide.AddInPlace(wide))
	for _, r := range dev.Memory().Stats().Rungs {
		switch r.Rung {
		case memory.RungRemap:
			require.EqualValues(t, 1, r.Served, "requests that were served by moving pages")
		case memory.RungReuse, memory.RungFollow:
			require.Zero(t, r.Served, "no pages lie side by side")
		}
	}
	for i := 0; i < len(held); i += 2 {
		requireAll(t, float32(i), held[i])
	}
	requireAll(t, 14, wide)
}

// requireAll demands that all elements of x are want, and releases x.
func requireAll(t *testing.T, want float32, x *tensor.Tensor) {
	t.Helper()
	got, err := tensor.Data[float32](x)
	require.NoError(t, err)
	for i, v := range got {
		if v != want {
			require.Equal(t, want, v, "element %d of %d", i, len(got))
		}
	}
	require.NoError(t, x.Release())
}
