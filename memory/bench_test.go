package memory_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// step is what one training step of a small MLP does to an allocator: slots
// that are filled (size > 0) and freed (size 0), in order.
type step []struct {
	slot int
	size int64
}

// mlpStep is the step of a six-layer MLP, 784-1024-1024-512-256-128-10, at
// batch 64 in float32: activations stay until backward has used them,
// workspaces and gradients of activations go at once.
func mlpStep() (s step, slots int) {
	const batch, bytes = 64, 4
	widths := []int64{784, 1024, 1024, 512, 256, 128, 10}
	alloc := func(size int64) int {
		s = append(s, struct {
			slot int
			size int64
		}{slots, size * bytes})
		slots++
		return slots - 1
	}
	free := func(slot int) {
		s = append(s, struct {
			slot int
			size int64
		}{slot, 0})
	}
	var saved []int
	for _, w := range widths {
		scratch := alloc(w * 16)
		saved = append(saved, alloc(batch*w))
		free(scratch)
	}
	loss, grad := alloc(1), alloc(batch*10)
	var gradients []int
	for i := len(widths) - 1; i > 0; i-- {
		gradients = append(gradients, alloc(widths[i]*widths[i-1]), alloc(widths[i]))
		below := alloc(batch * widths[i-1])
		free(grad)
		free(saved[i])
		grad = below
	}
	for _, slot := range append(gradients, grad, saved[0], loss) {
		free(slot)
	}
	return s, slots
}

// play runs the step once and returns how many blocks it allocated.
func (s step) play(b *testing.B, a *memory.Allocator, stream cuda.Stream, held []memory.Handle) int {
	pairs := 0
	for _, op := range s {
		if op.size == 0 {
			if err := a.Free(held[op.slot]); err != nil {
				b.Fatal(err)
			}
			continue
		}
		block, err := a.Alloc(op.size, stream, memory.Untagged)
		if err != nil {
			b.Fatal(err)
		}
		held[op.slot] = block.Handle
		pairs++
	}
	return pairs
}

// mutexPairs returns the time of two uncontended lock and unlock pairs, what a
// pair of Alloc and Free cannot do without.
func mutexPairs() time.Duration {
	const rounds = 200_000
	var mu sync.Mutex
	best := time.Hour
	for range 5 {
		start := time.Now()
		for range rounds {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // empty on purpose
			mu.Lock()
			mu.Unlock() //nolint:staticcheck
		}
		best = min(best, time.Since(start))
	}
	return best / rounds
}

// report turns the time of a benchmark into that of a pair.
func report(b *testing.B, pairs int) {
	b.StopTimer()
	elapsed := b.Elapsed()
	pair := float64(elapsed.Nanoseconds()) / float64(pairs)
	b.ReportMetric(pair, "ns/pair")
	b.ReportMetric(pair/float64(mutexPairs().Nanoseconds()), "xmutex")
}

func benchAllocator(b *testing.B) *memory.Allocator {
	_, a := device(b, memorytest.FakeConfig{Capacity: 64 << 30}, memory.Config{})
	return a
}

// BenchmarkStep is a training step out of the cache: the goal is xmutex <= 5.
func BenchmarkStep(b *testing.B) {
	a := benchAllocator(b)
	s, slots := mlpStep()
	held := make([]memory.Handle, slots)
	s.play(b, a, 0, held)
	b.ReportAllocs()
	pairs := 0
	for b.Loop() {
		pairs += s.play(b, a, 0, held)
	}
	report(b, pairs)
}

// BenchmarkStepTwoStreams is the same on two goroutines, each with its stream.
// ns/pair is that of one of them.
func BenchmarkStepTwoStreams(b *testing.B) {
	const streams = 2
	a := benchAllocator(b)
	s, slots := mlpStep()
	var held [streams][]memory.Handle
	for i := range held {
		held[i] = make([]memory.Handle, slots)
		s.play(b, a, cuda.Stream(i), held[i])
	}
	b.ReportAllocs()
	b.ResetTimer()
	var done sync.WaitGroup
	for i := range held {
		done.Go(func() {
			for range b.N {
				s.play(b, a, cuda.Stream(i), held[i])
			}
		})
	}
	done.Wait()
	report(b, b.N*slots)
}

// BenchmarkGCRung is the GC rung, beside 100,000 live Go objects and blocks
// whose owners are dead. ms/rung is for 1,000 of those, us/dead what each of
// another 100,000 adds. xgc is the former over a bare runtime.GC beside the same
// objects.
func BenchmarkGCRung(b *testing.B) {
	defer memory.NoGC()()
	const live, dead, more = 100_000, 1000, 100_000
	_, a := device(b, memorytest.FakeConfig{Capacity: 64 << 30}, memory.Config{
		NoBackgroundGC: true, SoftBudget: func(int64) int64 { return 64 << 30 }, // no GC but the rung's
	})
	objects := make([]*owner, live)
	for i := range objects {
		objects[i] = &owner{}
		objects[i].self = objects[i]
	}
	rung := func(dead int) float64 {
		for range dead {
			dropped(b, a, 4096)
		}
		start := time.Now()
		if gained := a.Collect(); gained < int64(dead-1)*4096 {
			b.Fatalf("the GC found %d bytes", gained)
		}
		return float64(time.Since(start).Nanoseconds())
	}
	var few, many, bare []float64
	for b.Loop() {
		few, many = append(few, rung(dead)), append(many, rung(dead+more))
		start := time.Now()
		runtime.GC()
		bare = append(bare, float64(time.Since(start).Nanoseconds()))
	}
	b.ReportMetric(median(few)/1e6, "ms/rung")
	b.ReportMetric((median(many)-median(few))/more/1e3, "us/dead")
	b.ReportMetric(median(few)/median(bare), "xgc")
	runtime.KeepAlive(objects)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// BenchmarkRandom has 32,768 live blocks of random sizes and frees and
// allocates one at a time.
func BenchmarkRandom(b *testing.B) {
	const live = 32 << 10
	a := benchAllocator(b)
	r := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int64, 1<<16)
	for i := range sizes {
		sizes[i] = 1 + r.Int64N(512<<r.IntN(14))
	}
	picks := make([]uint16, 1<<16)
	for i := range picks {
		picks[i] = uint16(r.IntN(live))
	}
	held := make([]memory.Handle, live)
	next := 0
	swap := func() {
		slot := picks[next%len(picks)]
		if err := a.Free(held[slot]); err != nil {
			b.Fatal(err)
		}
		block, err := a.Alloc(sizes[(next*7)%len(sizes)], 0, memory.Untagged)
		if err != nil {
			b.Fatal(err)
		}
		held[slot] = block.Handle
		next++
	}
	for i := range held {
		block, err := a.Alloc(sizes[i], 0, memory.Untagged)
		if err != nil {
			b.Fatal(err)
		}
		held[i] = block.Handle
	}
	for range 20 * live {
		swap()
	}
	b.ReportAllocs()
	pairs := 0
	for b.Loop() {
		swap()
		pairs++
	}
	report(b, pairs)
}
