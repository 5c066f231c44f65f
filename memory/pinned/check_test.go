package pinned

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

// pages is a source whose events are never done.
type pages struct{ next uintptr }

func (s *pages) AllocHost(size int64) (uintptr, error) {
	s.next += 1 << 32
	return s.next, nil
}
func (*pages) FreeHost(uintptr, int64) error                 { return nil }
func (*pages) RecordEvent(s cuda.Stream) (cuda.Event, error) { return cuda.Event(s), nil }
func (*pages) QueryEvent(cuda.Event) (bool, error)           { return false, nil }
func (*pages) SyncEvent(cuda.Event) error                    { return nil }
func (*pages) DestroyEvent(cuda.Event) error                 { return nil }

// TestCheckNotices breaks a sound pool in every way that Check knows.
func TestCheckNotices(t *testing.T) {
	// A pool with a small and a large segment in use, a parked block, and an
	// idle segment of either kind.
	for what, breakIt := range map[string]func(p *Pool, small, big *slot){
		"no generation":       func(_ *Pool, small, _ *slot) { small.generation = 0 },
		"unused twice":        func(p *Pool, _, _ *slot) { p.unused = append(p.unused, p.unused[0]) },
		"is in state":         func(_ *Pool, small, _ *slot) { small.state = unused },
		"has 1 uses":          func(_ *Pool, small, _ *slot) { small.uses = 1 },
		"has two slots":       func(p *Pool, small, _ *slot) { p.slots = append(p.slots, *small) },
		"serves a request":    func(_ *Pool, _, big *slot) { big.requested /= 2 },
		"active bytes":        func(p *Pool, _, _ *slot) { p.books.active.bytes.Current++ },
		"live requests":       func(p *Pool, _, _ *slot) { p.books.live.count.Current++ },
		"requested bytes":     func(_ *Pool, _, big *slot) { big.requested-- },
		"in blocks of":        func(_ *Pool, _, big *slot) { big.segment.size++ },
		"free twice":          func(_ *Pool, small, _ *slot) { small.segment.free[0] = small.segment.free[1] },
		"used blocks of":      func(_ *Pool, small, _ *slot) { small.segment.free = small.segment.free[1:] },
		"idle false with":     func(p *Pool, _, _ *slot) { p.idle.Front().Value.(*segment).idle = nil },
		"segments have":       func(p *Pool, _, big *slot) { delete(p.segments, big.segment) },
		"overlap":             func(_ *Pool, small, big *slot) { small.segment.ptr = big.segment.ptr },
		"reserved bytes":      func(p *Pool, _, _ *slot) { p.books.reserved.Current-- },
		"idle bytes: ":        func(p *Pool, _, _ *slot) { p.idleBytes++ },
		"which is none":       func(p *Pool, _, big *slot) { p.idle.PushBack(big.segment) },
		"limit 1":             func(p *Pool, _, _ *slot) { p.cfg.Limit = 1 },
		"class 0 has":         func(_ *Pool, small, _ *slot) { small.segment.class = 1 },
		"out of order":        func(p *Pool, _, _ *slot) { p.index.large[0], p.index.large[1] = p.index.large[1], p.index.large[0] },
		"indexed as large":    func(p *Pool, _, _ *slot) { p.index.large[0].class = 3 },
		"misplaced":           func(p *Pool, small, _ *slot) { p.index.remove(small.segment) },
		"segments too many":   func(p *Pool, _, big *slot) { p.index.large = append(p.index.large, big.segment) },
		"is empty":            func(p *Pool, _, _ *slot) { p.queue(9) },
		"queue of stream 0x1": func(p *Pool, _, _ *slot) { p.queues[0].uses[0].seq = 99 },
		"events":              func(p *Pool, _, _ *slot) { p.queues[0].uses = p.queues[0].uses[1:] },
	} {
		t.Run(what, func(t *testing.T) {
			p, err := New(&pages{}, Config{})
			require.NoError(t, err)
			take := func(size int64) Handle {
				b, err := p.Alloc(size)
				require.NoError(t, err)
				return b.Handle
			}
			small, big := take(1), take(1<<20)
			var others []Handle
			for _, size := range []int64{2 << 20, 3 << 20, 4 << 20, 5 << 20, 8192} {
				others = append(others, take(size))
			}
			for i, h := range others {
				if i < 2 {
					require.NoError(t, p.Free(h, 1))
				} else {
					require.NoError(t, p.Free(h))
				}
			}
			require.NoError(t, p.Check())
			breakIt(p, &p.slots[small.slot], &p.slots[big.slot])
			require.ErrorContains(t, p.Check(), what)
		})
	}
}
