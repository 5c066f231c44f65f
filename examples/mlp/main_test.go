package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// runJSON runs the program and returns what it printed and its last line.
func runJSON(t *testing.T, args ...string) (string, result) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append(args, "-json", "-device", "cpu"), &out, io.Discard))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r result
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	return out.String(), r
}

func TestItLearns(t *testing.T) {
	out, r := runJSON(t, "-limit", "2000", "-epochs", "2", "-hidden", "64")
	require.Contains(t, out, "epoch 2/2  loss ")
	require.Contains(t, out, "Tarn memory summary, device cpu")
	require.Equal(t, "cpu", r.Device)
	require.Len(t, r.Loss, 2)
	require.Less(t, float64(r.Loss[1]), float64(r.Loss[0]))
	require.Greater(t, float64(r.TestAccuracy), 0.85)
	require.Zero(t, r.GCReleased, "the scopes do the work")
	require.Greater(t, r.PeakReserved, r.PeakAllocated)
}

// TestSameSeedSameLosses: to the last bit, whatever the number of threads, the
// optimizer's state included.
func TestSameSeedSameLosses(t *testing.T) {
	t.Cleanup(func() { tensor.SetThreads(0) })
	for _, optimizer := range []string{"sgd", "adamw"} {
		args := []string{"-limit", "600", "-epochs", "2", "-hidden", "300,20", "-batch", "50", "-optimizer", optimizer, "-seed", "3"}
		_, one := runJSON(t, append(args, "-threads", "1")...)
		_, again := runJSON(t, append(args, "-threads", "1")...)
		_, more := runJSON(t, append(args, "-threads", "5")...)
		require.Equal(t, one.Loss, again.Loss)
		require.Equal(t, one.Loss, more.Loss)
		_, other := runJSON(t, append(args, "-threads", "1", "-seed", "4")...)
		require.NotEqual(t, one.Loss, other.Loss)
	}
}

// TestNoScopeIsTheSameTraining releases nothing by hand and gets the same
// numbers.
func TestNoScopeIsTheSameTraining(t *testing.T) {
	args := []string{"-limit", "500", "-epochs", "1", "-hidden", "32"}
	_, scoped := runJSON(t, args...)
	_, unscoped := runJSON(t, append(args, "-no-scope")...)
	require.Equal(t, scoped.Loss, unscoped.Loss)
	require.Equal(t, scoped.TestAccuracy, unscoped.TestAccuracy)
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{"-batch", "0"}, {"-device", "gpu"}, {"-capacity", "0"}, {"extra"}} {
		require.Error(t, run(args, io.Discard, io.Discard), "%v", args)
	}
	require.ErrorIs(t, run([]string{"-help"}, io.Discard, io.Discard), flag.ErrHelp)
}
