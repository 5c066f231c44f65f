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

// TestCopyMeter measures a copy of the length that the peak is measured with.
func TestCopyMeter(t *testing.T) {
	const half = 1 << 14
	m := NewCopyMeter(2*half, 2*half, func() {}, func() {})
	to, from := make([]byte, half), make([]byte, half)
	for range 100 {
		m.Time(func() { copy(to, from) })
	}
	ratio, rate, peak := m.Result()
	require.Positive(t, ratio)
	require.Positive(t, rate)
	require.Positive(t, peak)
}

func BenchmarkPeak(b *testing.B) {
	best := 0.0
	for b.Loop() {
		best = max(best, measure(5, 100_000))
	}
	b.ReportMetric(best/1e9, "GFLOP/s")
}
