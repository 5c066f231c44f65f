package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/tensor"
)

func TestDeviceReadsBack(t *testing.T) {
	for s, want := range map[string]device{
		"auto": {}, "cpu": {kind: "cpu"}, "sim": {kind: "sim"}, "cuda:0": {kind: "cuda"}, "cuda:12": {"cuda", 12},
	} {
		var d device
		require.NoError(t, d.Set(s))
		require.Equal(t, want, d)
		require.Equal(t, s, d.String())
	}
	var d device
	require.NoError(t, d.Set("cuda"))
	require.Equal(t, "cuda:0", d.String())
}

func TestDeviceOpens(t *testing.T) {
	o, err := (&device{kind: "cpu"}).open(0)
	require.NoError(t, err)
	require.Same(t, tensor.CPU(), o.Device)
	require.Empty(t, o.note)
	require.Contains(t, o.String(), "kernels")

	o, err = (&device{}).open(0)
	require.NoError(t, err)
	require.NotEmpty(t, o.note, "it says what it chose")
	probe := cuda.Probe()
	if probe == nil {
		return // the device is real
	}
	require.Same(t, tensor.CPU(), o.Device)
	require.Contains(t, o.note, probe.Error())
	_, err = (&device{kind: "cuda"}).open(0)
	require.ErrorIs(t, err, probe)
	require.ErrorContains(t, err, "-device cuda:0: ")
}
