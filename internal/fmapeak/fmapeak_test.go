package fmapeak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMeter measures the peak loop against itself.
func TestMeter(t *testing.T) {
	if measure(1, 1000) == 0 {
		t.Skip("built without C: there is no peak")
	}
	paused := 0
	m := NewMeter(1e6, func() { paused++ }, func() { paused-- })
	for start := time.Now(); time.Since(start) < 3*roundTime; {
		m.Time(func() { measure(1, 10_000) })
	}
	ratio, flops, peak := m.Result()
	require.Positive(t, ratio)
	require.Positive(t, flops)
	require.Positive(t, peak)
	require.Zero(t, paused)
}

func BenchmarkPeak(b *testing.B) {
	best := 0.0
	for b.Loop() {
		best = max(best, measure(5, 100_000))
	}
	b.ReportMetric(best/1e9, "GFLOP/s")
}
