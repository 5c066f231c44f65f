package tensor_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// captured makes a graph on s that holds x, which is released.
func captured(t *testing.T, s *tensor.Stream, elements int) *tensor.Graph {
	t.Helper()
	x := tensor.Ones(s, tensor.Float32, elements)
	g, err := tensor.Capture(s, func() error {
		y := x.AddScalar(1)
		if err := y.Err(); err != nil {
			return err
		}
		return y.Release()
	})
	require.NoError(t, err)
	require.NoError(t, g.Replay())
	require.NoError(t, x.Release())
	return g
}

// collect returns when the garbage collector has found a graph.
func collect(d *tensor.Device) {
	for !d.GraphDropped() {
		runtime.GC()
		runtime.Gosched()
	}
}

// TestDroppedGraph: what nobody closed is closed when the next capture begins,
// and not one that somebody has.
func TestDroppedGraph(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	kept := captured(t, s1, 16)
	captured(t, s2, 16)
	require.EqualValues(t, 2*512, live(d), "the graphs hold what they read")
	collect(d)
	r.take()
	g := captured(t, s1, 16)
	require.Equal(t, "host waits for stream 2", r.take()[1], "for the last replay of the graph")
	require.EqualValues(t, 2*512, live(d), "kept and g")
	require.NoError(t, kept.Replay())
	require.NoError(t, kept.Close())
	require.NoError(t, g.Close())
	require.Zero(t, live(d))
	require.NoError(t, d.Memory().Check())
}

// TestCloseOfADeviceClosesItsGraphs also where they are in use.
func TestCloseOfADeviceClosesItsGraphs(t *testing.T) {
	_, d, s1, s2 := onStreams(t)
	a, b := captured(t, s1, 16), captured(t, s2, 16)
	require.NoError(t, d.Close())
	require.ErrorIs(t, a.Replay(), tensor.ErrReleased)
	require.ErrorIs(t, b.Replay(), tensor.ErrReleased)
	require.NoError(t, a.Close(), "a second Close")
}
