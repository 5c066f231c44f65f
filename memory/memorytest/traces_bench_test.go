package memorytest_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

var (
	traceDir     = flag.String("trace.dir", "", "benchmark the .tr files of this folder (an absolute path), not the traces made here")
	traceSeed    = flag.Uint64("trace.seed", 0, "seed of the traces made here")
	traceStreams = flag.Int("trace.streams", 4, "streams of the serving trace made here, 1 to 256")
)

// settings are the policies that are compared. With one only, sub-benchmarks
// have the names of the traces alone.
var settings = []struct {
	name string
	memory.Config
}{
	// A GC beside the work starts when it will: without, counts and bytes are
	// the same in each run.
	{"pages", memory.Config{NoBackgroundGC: true}},
	{"segments", memory.Config{NoBackgroundGC: true, Settings: memory.Settings{Expandable: memory.ExpandableOff}}},
}

// minTimed is the least number of pairs that are timed: below, the clock costs
// more than they do. Traces e have two.
const minTimed = 1000

// unlimited is the capacity of a device that no trace fills.
const unlimited = 1 << 50

// BenchmarkTraces replays each trace on one goroutine. Its metrics:
//
//	ns/pair               of an alloc and a free in the second half, with the
//	                      cache that earlier passes left and what misses it
//	                      all the same; the fastest pass
//	xmutex                the same, over two pairs of Lock and Unlock
//	allocs/pair           allocations of the Go heap, likewise
//	reserved/live         peak of reserved bytes over the trace's PeakLive, without limit
//	mincap/live           least capacity without an OOM over PeakLive
//	drivercalls/kalloc    driver calls for 1000 allocs of the second half, without limit
//	drivercalls105/kalloc the same on a device of 1.05 × PeakLive, or else
//	oom105                1: the trace does not fit that device
//
// All but the first three are of one pass on a fresh allocator, and exact.
func BenchmarkTraces(b *testing.B) {
	for _, source := range traceSources(b) {
		for _, s := range settings {
			name := source.name
			if len(settings) > 1 {
				name += "/" + s.name
			}
			b.Run(name, func(b *testing.B) { benchTrace(b, source.load(b), s.Config) })
		}
	}
}

// traceSource is a trace that is not in memory yet.
type traceSource struct {
	name string
	load func(b *testing.B) *memorytest.Trace
}

func traceSources(b *testing.B) []traceSource {
	var sources []traceSource
	if *traceDir == "" {
		require.True(b, *traceStreams >= 1 && *traceStreams <= 256, "-trace.streams %d", *traceStreams)
		for _, name := range memorytest.TraceNames() {
			sources = append(sources, traceSource{name, func(*testing.B) *memorytest.Trace {
				trace, _ := memorytest.TraceByName(name, *traceSeed, *traceStreams)
				return trace
			}})
		}
		return sources
	}
	files, err := filepath.Glob(filepath.Join(*traceDir, "*.tr"))
	require.NoError(b, err)
	require.NotEmpty(b, files, "-trace.dir %s has no .tr files", *traceDir)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".tr")
		sources = append(sources, traceSource{name, func(b *testing.B) *memorytest.Trace {
			f, err := os.Open(file)
			require.NoError(b, err)
			defer f.Close()
			trace, err := memorytest.ReadTrace(f)
			require.NoError(b, err, file)
			trace.Name = name
			return trace
		}})
	}
	return sources
}

func benchTrace(b *testing.B, trace *memorytest.Trace, cfg memory.Config) {
	free := measure(b, trace, unlimited, cfg)
	require.False(b, free.oom, "a device without limit")
	least := minCapacity(b, trace, free.reserved, cfg)
	tight := measure(b, trace, trace.PeakLive+trace.PeakLive/20, cfg)

	timeTrace(b, trace, cfg) // its loop forgets what was reported before
	b.ReportMetric(over(free.reserved, trace.PeakLive), "reserved/live")
	b.ReportMetric(over(least, trace.PeakLive), "mincap/live")
	b.ReportMetric(free.driverCalls, "drivercalls/kalloc")
	if tight.oom {
		b.ReportMetric(1, "oom105")
	} else {
		b.ReportMetric(tight.driverCalls, "drivercalls105/kalloc")
	}
}

func over(n, live int64) float64 { return float64(n) / float64(live) }

// secondHalf is the first event of a trace's second half, the prelude aside.
func secondHalf(trace *memorytest.Trace) int {
	return trace.Prelude + (len(trace.Events)-trace.Prelude)/2
}

// open returns an allocator over a device of that capacity, which has virtual
// memory, and on which all work is done when it is queued.
func open(b *testing.B, capacity int64, cfg memory.Config) (*memorytest.Fake, *memory.Allocator) {
	fake := memorytest.NewFake(memorytest.FakeConfig{Capacity: capacity, Granularity: 2 * mib})
	a, err := memory.New(fake, cfg)
	require.NoError(b, err)
	return fake, a
}

// outcome is what one pass on a fresh allocator comes to.
type outcome struct {
	oom         bool
	reserved    int64   // peak, bytes
	driverCalls float64 // for 1000 allocs of the second half
}

func measure(b *testing.B, trace *memorytest.Trace, capacity int64, cfg memory.Config) outcome {
	fake, a := open(b, capacity, cfg)
	r := memorytest.NewReplay(a, trace)
	err := r.Play(secondHalf(trace))
	before := fake.Calls()
	if err == nil {
		err = r.Play(len(trace.Events))
	}
	calls := fake.Calls().Since(before).Driver()
	var oom *memory.OutOfMemoryError
	if !errors.As(err, &oom) {
		require.NoError(b, err)
	}
	require.NoError(b, a.Check())
	reserved := a.Stats().ReservedBytes.All.Peak
	require.NoError(b, r.Rewind())
	require.NoError(b, errors.Join(a.Close(), fake.Leaked()))
	return outcome{oom != nil, reserved, 1000 * float64(calls) / float64(allocsOf(trace))}
}

// allocsOf counts the allocs of the second half.
func allocsOf(trace *memorytest.Trace) (n int) {
	for _, e := range trace.Events[secondHalf(trace):] {
		if !e.Free {
			n++
		}
	}
	return n
}

// minCapacity returns the least capacity at which the trace plays to its end,
// up to 0.1 % of PeakLive, which is the least that it could be. It bisects
// between that and what the trace reserved without limit, which is enough: on
// a device of that size no call upstream goes another way. A trace may fail at
// some capacity above one at which it passes; what is found then is one of
// several borders, with a failure 0.1 % below it.
func minCapacity(b *testing.B, trace *memorytest.Trace, enough int64, cfg memory.Config) int64 {
	fails, passes := trace.PeakLive, enough
	if !measure(b, trace, fails, cfg).oom {
		return fails
	}
	require.False(b, measure(b, trace, passes, cfg).oom, "a device of the %d bytes that were reserved without limit", passes)
	for passes-fails > trace.PeakLive/1000 {
		middle := fails + (passes-fails)/2
		if measure(b, trace, middle, cfg).oom {
			fails = middle
		} else {
			passes = middle
		}
	}
	return passes
}

// timeTrace times the second half in passes over one allocator without limit.
// A loaded machine slows some of them down, so the fastest counts.
func timeTrace(b *testing.B, trace *memorytest.Trace, cfg memory.Config) {
	fake, a := open(b, unlimited, cfg)
	r := memorytest.NewReplay(a, trace)
	play := func(end int) {
		if err := r.Play(end); err != nil {
			b.Fatal(err)
		}
	}
	play(len(trace.Events))
	require.NoError(b, r.Rewind())
	fastest, fewest := time.Duration(math.MaxInt64), uint64(math.MaxUint64)
	for b.Loop() {
		play(secondHalf(trace))
		before := mallocs()
		start := time.Now()
		play(len(trace.Events))
		fastest = min(fastest, time.Since(start))
		fewest = min(fewest, mallocs()-before)
		require.NoError(b, r.Rewind())
	}
	pairs := float64(len(trace.Events)-secondHalf(trace)) / 2
	b.ReportMetric(0, "ns/op") // of a pass, its first half and the rewinding: left out
	b.ReportMetric(float64(fewest)/pairs, "allocs/pair")
	if pairs >= minTimed {
		pair := float64(fastest.Nanoseconds()) / pairs
		b.ReportMetric(pair, "ns/pair")
		b.ReportMetric(pair/mutexPair(), "xmutex")
	}
	require.NoError(b, errors.Join(a.Close(), fake.Leaked()))
}

// mallocs is the number of allocations of the Go heap so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// mutexPair returns the nanoseconds of two uncontended pairs of Lock and
// Unlock, the fastest of five tries: what no alloc and free can do without.
func mutexPair() float64 {
	const rounds = 200_000
	var mu sync.Mutex
	fastest := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		for range 2 * rounds {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // empty on purpose
		}
		fastest = min(fastest, time.Since(start))
	}
	return float64(fastest.Nanoseconds()) / rounds
}

// BenchmarkSlack prints the curve that memory.Config.PageSlack chooses a point
// of: reserved bytes against driver calls, without limit, of the traces whose
// shapes change.
func BenchmarkSlack(b *testing.B) {
	for _, name := range []string{"c_var24quad", "c_var24ckpt", "d_serve"} {
		for _, slack := range []float64{-1, 0.05, 0.125, 0.2, 0.5} {
			b.Run(fmt.Sprintf("%s/%.3f", name, max(slack, 0)), func(b *testing.B) {
				trace, _ := memorytest.TraceByName(name, *traceSeed, *traceStreams)
				var found outcome
				for range b.N {
					found = measure(b, trace, unlimited, memory.Config{NoBackgroundGC: true, PageSlack: slack})
				}
				b.ReportMetric(over(found.reserved, trace.PeakLive), "reserved/live")
				b.ReportMetric(found.driverCalls, "drivercalls/kalloc")
			})
		}
	}
}
