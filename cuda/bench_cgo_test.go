//go:build cgo && (linux || darwin) && !race

package cuda

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// What is called for each op allocates nothing. (Under -race a sync.Pool
// forgets on purpose.)
func TestHotCallsDoNotAllocate(t *testing.T) {
	w := newWorld(t)
	scale := function(t, w.m, "scale")
	for name, call := range map[string]func() error{
		"launch": func() error { return scale.Prepare().Ptr(w.p).Int32(4).Float32(1).Run(w.s, one) },
		"record": func() error { return w.c.Record(w.e, w.s) },
		"query":  func() error { return second(w.c.QueryEvent(w.e)) },
		"wait":   func() error { return w.c.WaitEvent(0, w.e) },
		"copy":   func() error { return w.c.CopyIn(0, w.p, w.h, 64) },
		"fill":   func() error { return w.c.Fill32(0, w.p, 0, 16) },
		"event":  func() error { e, _ := w.c.NewEvent(); return w.c.DestroyEvent(e) },
	} {
		var err error
		require.Zero(t, testing.AllocsPerRun(100, func() { err = call() }), name)
		require.NoError(t, err)
	}
	w.free(t)
}

// BenchmarkLaunch is a launch without the driver's part: packing, one step
// into C, and two calls by pointer. The metric x-bare is how many steps into C
// that do nothing take as long.
func BenchmarkLaunch(b *testing.B) {
	c := openFake(b, "QUICK")
	f := function(b, load(b, c), "scale")
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Prepare().Ptr(1).Ptr(2).Ptr(3).Int64(4).Float32(5).Run(0, one); err != nil {
			b.Fatal(err)
		}
	}
	launch := b.Elapsed() / time.Duration(b.N)
	b.StopTimer()
	rec := new(shim.Launch)
	start := time.Now()
	const n = 200_000
	for range n {
		c.table.Nothing(rec)
	}
	bare := time.Since(start) / n
	b.ReportMetric(float64(bare), "bare-ns")
	b.ReportMetric(float64(launch)/float64(bare), "x-bare")
}
