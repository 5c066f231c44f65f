//go:build cgo && (linux || darwin)

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSimTrainsAsTheCPU: the kernels of the GPU come to the same losses.
func TestSimTrainsAsTheCPU(t *testing.T) {
	args := []string{"-limit", "256", "-epochs", "1", "-hidden", "32", "-batch", "32", "-json", "-tests", "500"}
	on := func(device ...string) (r result) {
		var out bytes.Buffer
		require.NoError(t, run(append(device, args...), &out, io.Discard))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
		return r
	}
	for _, optimizer := range []string{"sgd", "adamw"} {
		cpu, sim := on("-device", "cpu", "-optimizer", optimizer), on("-device", "sim", "-capacity", "32", "-optimizer", optimizer)
		require.Equal(t, "cuda:0", sim.Device)
		require.Len(t, sim.StepLoss, 8)
		for i, want := range cpu.StepLoss {
			require.InDelta(t, float64(want), float64(sim.StepLoss[i]), 1e-4, "step %d", i)
		}
		require.InDelta(t, float64(cpu.TestAccuracy), float64(sim.TestAccuracy), 0.01)
	}
}

func TestSimWithoutScopes(t *testing.T) {
	require.NoError(t, run([]string{"-device", "sim", "-no-scope", "-limit", "64", "-epochs", "1", "-hidden", "8", "-tests", "100"},
		io.Discard, io.Discard))
}

func TestSimHasACapacity(t *testing.T) {
	require.ErrorContains(t, run([]string{"-device", "sim", "-capacity", "4"}, io.Discard, io.Discard), "memory")
}
