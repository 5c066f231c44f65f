package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
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

func TestDeviceChoice(t *testing.T) {
	missing := &cuda.LoadError{Library: "libcuda.so.1", Reason: "cannot open shared object file"}
	none := func() (driver, error) { return driver{}, missing }
	two := func() (driver, error) { return driver{version: "12.4", devices: 2}, nil }
	unasked := func() (driver, error) {
		t.Error("nobody asked for the driver")
		return driver{}, errors.New("unasked")
	}
	for name, c := range map[string]struct {
		d         device
		look      func() (driver, error)
		note, err string
	}{
		"cpu": {device{kind: "cpu"}, unasked, "", ""},
		"sim": {device{kind: "sim"}, unasked, "", "-device sim: this version of Tarn has no simulated GPU yet"},
		"auto without a driver": {device{}, none,
			"found no CUDA driver to use, so the CPU it is (-device cuda says why)", ""},
		"auto with a driver": {device{}, two,
			"CUDA 12.4 with 2 devices is here, but this version of Tarn cannot compute on it yet: the CPU it is", ""},
		"cuda without a driver": {device{kind: "cuda"}, none, "",
			"-device cuda:0: cuda: cannot use libcuda.so.1: cannot open shared object file"},
		"cuda with a driver": {device{"cuda", 1}, two, "",
			"-device cuda:1: CUDA 12.4 is here, but this version of Tarn cannot compute on it yet"},
		"a device too many": {device{"cuda", 2}, two, "",
			"-device cuda:2: the driver has only 2 devices, counted from 0"},
	} {
		note, err := c.d.choose(c.look)
		require.Equal(t, c.note, note, name)
		if c.err == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.err, name)
	}
	_, err := (&device{kind: "cuda"}).choose(none)
	require.ErrorIs(t, err, missing, "the cause can be matched")
}

// The real driver, whatever this machine has, is asked and quoted.
func TestCUDADriverIsAsked(t *testing.T) {
	found, err := cudaDriver()
	require.Equal(t, cuda.Probe(), err)
	require.Equal(t, err == nil, found.devices > 0)
}
