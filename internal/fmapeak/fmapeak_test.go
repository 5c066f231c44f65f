package fmapeak

import "testing"

func BenchmarkPeak(b *testing.B) {
	best := 0.0
	for b.Loop() {
		best = max(best, Flops())
	}
	b.ReportMetric(best/1e9, "GFLOP/s")
}
