package pinned_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/pinned"
)

const streams = 3

// model is a pool with a naive one beside it: lists of what is live and of
// what the device may still use.
type model struct {
	t    testing.TB
	src  *source
	p    *pinned.Pool
	cfg  pinned.Config
	live []held
	busy []held // freed, with marks that were not reached
	dead []pinned.Handle
	sum  struct{ live, requested, peak int64 }

	faults int // errors that were injected
}

type held struct {
	pinned.Block
	asked int64
	marks []mark
}

func newModel(t testing.TB, capacity int64, cfg pinned.Config) *model {
	m := &model{t: t, src: newSource(capacity), cfg: cfg}
	var err error
	m.p, err = pinned.New(m.src, cfg)
	require.NoError(t, err)
	return m
}

// opBytes encode one step.
const opBytes = 4

func (m *model) step(op []byte) {
	switch kind := op[0]; {
	case kind < 110:
		m.alloc(size(op[1], op[2]))
	case kind < 150:
		m.free(int(op[1]))
	case kind < 205:
		var used []cuda.Stream
		for s := range cuda.Stream(streams) {
			if op[2]>>s&1 != 0 {
				used = append(used, s, s)
			}
		}
		m.free(int(op[1]), used...)
	case kind < 235:
		m.src.complete(cuda.Stream(op[1] % streams))
	case kind < 242:
		m.stale(int(op[1]))
	case kind < 250:
		keep := int64(op[1]) << 14
		_, err := m.p.Trim(keep)
		if m.fine(err) {
			require.LessOrEqual(m.t, m.p.Stats().IdleBytes, keep)
		}
	default:
		m.fine(m.p.EmptyCache())
	}
}

// size spreads sizes evenly over their logarithm, up to 8 MiB.
func size(mantissa, exponent byte) int64 {
	if exponent >= 240 {
		return 4096*int64(mantissa) + int64(exponent) - 248
	}
	return (int64(mantissa) + 1) << (exponent % 16)
}

// fine takes an injected failure for granted, once.
func (m *model) fine(err error) bool {
	if errors.Is(err, errInjected) {
		m.faults++
		return false
	}
	require.NoError(m.t, err)
	return true
}

func (m *model) alloc(size int64) {
	b, err := m.p.Alloc(size)
	var oom *pinned.OutOfMemoryError
	switch {
	case size < 0:
		var bad *pinned.RequestError
		require.ErrorAs(m.t, err, &bad)
		return
	case size == 0:
		require.NoError(m.t, err)
		require.Zero(m.t, b)
		return
	case errors.As(err, &oom):
		m.outOfMemory(oom, size)
		return
	case !m.fine(err):
		return
	}
	waste := b.Size - size
	require.True(m.t, 0 <= waste && waste <= max(size/8, 4096), "%d bytes for %d", b.Size, size)
	require.Zero(m.t, b.Ptr%4096)
	for _, h := range append(m.live, m.busy...) {
		if h.Ptr < b.Ptr+uintptr(b.Size) && b.Ptr < h.Ptr+uintptr(h.Size) {
			require.True(m.t, len(h.marks) > 0 && m.over(h), "%v and %v share bytes", h.Block, b)
		}
	}
	m.live = append(m.live, held{Block: b, asked: size})
	m.sum.live += b.Size
	m.sum.requested += size
	m.sum.peak = max(m.sum.peak, m.sum.live)
}

// outOfMemory holds the error against what is known: after all was waited for
// and given back, what is left of the room is less than the block.
func (m *model) outOfMemory(e *pinned.OutOfMemoryError, size int64) {
	if errors.Is(e, errInjected) {
		m.faults++
		return
	}
	room := m.src.capacity
	if m.cfg.Limit > 0 {
		room = min(room, m.cfg.Limit)
	}
	require.Equal(m.t, size, e.Requested)
	require.Equal(m.t, m.sum.live, e.Live)
	require.Zero(m.t, e.Pending)
	require.Equal(m.t, e.Reserved, e.Live+e.Unusable, "nothing idle is left")
	require.Greater(m.t, e.Reserved+e.Rounded, room)
	small := int64(0)
	for _, h := range m.live {
		if h.Size <= 256*kib {
			small++
		}
	}
	require.LessOrEqual(m.t, e.Unusable, small*mib, "only segments of small blocks have free bytes")
}

// over reports whether the device is done with a freed block.
func (m *model) over(h held) bool {
	for _, mark := range h.marks {
		if !m.src.finished(mark) {
			return false
		}
	}
	return true
}

func (m *model) free(pick int, used ...cuda.Stream) {
	if len(m.live) == 0 {
		return
	}
	i := pick % len(m.live)
	h := m.live[i]
	before := m.p.Stats().LiveRequests.Current
	if err := m.p.Free(h.Handle, used...); !m.fine(err) && m.p.Stats().LiveRequests.Current == before {
		return // as if it had not been called
	}
	m.live = append(m.live[:i], m.live[i+1:]...)
	m.dead = append(m.dead, h.Handle)
	m.sum.live -= h.Size
	m.sum.requested -= h.asked
	for _, s := range used {
		h.marks = append(h.marks, m.src.end(s))
	}
	if len(used) > 0 {
		m.busy = append(m.busy, h)
	}
}

func (m *model) stale(pick int) {
	if len(m.dead) == 0 {
		return
	}
	err := m.p.Free(m.dead[pick%len(m.dead)], 1)
	var bad *pinned.HandleError
	require.ErrorAs(m.t, err, &bad)
	require.ErrorIs(m.t, err, memory.ErrStaleHandle)
}

// check compares the books.
func (m *model) check() {
	require.NoError(m.t, m.p.Check())
	s := m.p.Stats()
	require.EqualValues(m.t, len(m.live), s.LiveRequests.Current)
	require.Equal(m.t, m.sum.live, s.LiveBytes.Current)
	require.Equal(m.t, m.sum.peak, s.LiveBytes.Peak, "a true peak")
	require.GreaterOrEqual(m.t, s.RequestedBytes.Current, m.sum.requested)
	require.Equal(m.t, m.src.used, s.AllocatedBytes.Current)
	require.EqualValues(m.t, len(m.src.segments), s.Allocations.Current)
	kept := m.busy[:0]
	for _, h := range m.busy {
		if !m.over(h) {
			kept = append(kept, h)
		}
	}
	m.busy = kept
	pending := int64(0)
	for _, h := range m.busy {
		pending += h.Size
	}
	require.GreaterOrEqual(m.t, s.PendingBytes, pending, "what a stream may use is not free")
}

// finish gives everything back and demands that nothing was lost.
func (m *model) finish() {
	for len(m.live) > 0 {
		m.free(0, 0, 1)
	}
	if !m.fine(m.p.Close()) {
		require.NoError(m.t, m.p.Close(), "a Close that failed can be repeated")
	}
	m.check()
	require.Zero(m.t, m.src.used)
	require.Zero(m.t, m.p.Stats().ActiveBytes.Current)
	require.LessOrEqual(m.t, len(m.src.events), m.lostEvents())
	_, err := m.p.Alloc(1)
	require.ErrorIs(m.t, err, memory.ErrClosed)
}

// lostEvents is how many events nobody can destroy: the one whose destruction
// was made to fail.
func (m *model) lostEvents() int {
	if m.src.failed == "destroy" {
		return 1
	}
	return 0
}

func (m *model) play(data []byte) {
	for ; len(data) >= opBytes; data = data[opBytes:] {
		m.step(data[:opBytes])
		if m.src.failAt < 0 || m.src.failed != "" { // earlier steps went the same way in an earlier round
			m.check()
		}
	}
	m.finish()
}

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 for a new one each time")

// newSeed returns a seed that a failure prints.
func newSeed(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed
}

// random returns random steps.
func random(t testing.TB, steps int) []byte {
	rng := rand.New(rand.NewPCG(newSeed(t), 1))
	data := make([]byte, steps*opBytes)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// TestModel plays the same steps twice: with room for all, and with half of
// what that took at its peak, so that most rungs of the ladder are climbed.
func TestModel(t *testing.T) {
	for _, maxCached := range []int64{0, -1, mib} {
		for round := range 2 {
			t.Run(fmt.Sprintf("max cached %d, round %d", maxCached, round), func(t *testing.T) {
				data := random(t, 400)
				wide := newModel(t, 1<<40, pinned.Config{MaxCached: maxCached})
				wide.play(data)
				peak := wide.p.Stats().AllocatedBytes.Peak
				require.Zero(t, wide.p.Stats().NumOOMs)

				limited := newModel(t, 1<<40, pinned.Config{MaxCached: maxCached, Limit: peak / 2})
				limited.play(data)
				assert.LessOrEqual(t, limited.p.Stats().AllocatedBytes.Peak, peak/2)
				full := newModel(t, peak/2, pinned.Config{MaxCached: maxCached})
				full.play(data)
				assert.LessOrEqual(t, full.p.Stats().AllocatedBytes.Peak, peak/2)
			})
		}
	}
}

// TestFaults lets every call of the source fail in turn, by a fault and by a
// want of memory. The books are right after it, and nothing is lost.
func TestFaults(t *testing.T) {
	data := random(t, 100)
	for name, fault := range map[string]error{"fault": errInjected, "full": fmt.Errorf("%w: %w", errInjected, memory.ErrUpstreamFull)} {
		for _, cfg := range []pinned.Config{{}, {Limit: 12 * mib, MaxCached: mib}} {
			t.Run(fmt.Sprintf("%s %+v", name, cfg), func(t *testing.T) {
				for n := 0; ; n++ {
					m := newModel(t, 1<<40, cfg)
					m.src.failNth(n, fault)
					m.play(data)
					require.LessOrEqual(t, m.faults, 1)
					if m.src.failed == "" {
						assert.Greater(t, n, 100, "calls that failed")
						return
					}
				}
			})
		}
	}
}

// FuzzPool is the model under steps that the fuzzer makes up: a limit, then
// four bytes a step.
func FuzzPool(f *testing.F) {
	f.Add(append([]byte{0}, random(f, 50)...))
	f.Add(append([]byte{40}, random(f, 200)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 4000 {
			return
		}
		m := newModel(t, 1<<40, pinned.Config{Limit: int64(data[0]) << 18, MaxCached: int64(data[0]%3-1) << 20})
		m.play(data[1:])
	})
}
