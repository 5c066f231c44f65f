package memorytest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// model plays ops on an allocator and knows what must come of them.
type model struct {
	Target
	t     *testing.T
	fake  *Fake // nil if the upstream is none
	naive *Naive

	live   []*held
	spans  regions // of the live blocks
	ended  []memory.Handle
	stamps uint64

	pools  [numPools]*privatePool // nil if the allocator has none
	owners map[any]*privatePool   // of the device's memory, by what the fake's under returns

	injected error // tolerated: a test asked the fake for it
}

// held is a live block.
type held struct {
	memory.Block
	requested int64
	stream    cuda.Stream
	pool      *privatePool   // nil for none
	readers   []cuda.Stream  // that a free must name
	stamp     uint64         // in its memory, where that is readable
	twin      cuda.DevicePtr // the naive allocator's block
}

func newModel(t *testing.T, target Target) *model {
	t.Helper()
	m := &model{
		Target: target, t: t, naive: NewNaive(NewFake(FakeConfig{Capacity: target.room(t)})),
		owners: make(map[any]*privatePool),
	}
	m.fake, _ = target.Upstream.(*Fake)
	m.openPools()
	return m
}

// play plays ops and looks at everything after each.
func (m *model) play(ops []Op) {
	m.t.Helper()
	for i := range ops {
		m.step(ops, i, m.check)
	}
}

// step plays op i of a list, and looks.
func (m *model) step(ops []Op, i int, look func() error) {
	m.t.Helper()
	if err := errors.Join(m.do(ops[i]), look()); err != nil {
		m.t.Fatalf("op %d of %d, %v: %v\nthe ops before it: %v", i, len(ops), ops[i], err, ops[max(0, i-20):i])
	}
}

func (m *model) do(op Op) error {
	switch op.Kind {
	case OpAlloc:
		return m.alloc(op.Size, op.Stream, m.pool(op))
	case OpComplete:
		if m.fake != nil {
			m.fake.Complete(op.Stream)
		}
		return nil
	case OpEmptyCache:
		return m.emptyCache(m.pool(op))
	case OpClosePool:
		return m.closePool(m.pool(op))
	case OpStale:
		return m.freeAgain(op.Pick)
	}
	if len(m.live) == 0 {
		return nil
	}
	h := m.live[op.Pick%len(m.live)]
	switch op.Kind {
	case OpRead:
		return m.read(h, op.Stream)
	case OpAbandon:
		return m.abandon(h)
	}
	return m.free(h)
}

// tolerate forgives the failure that the test injected.
func (m *model) tolerate(err error) error {
	if m.injected != nil && errors.Is(err, m.injected) {
		return nil
	}
	return err
}

func (m *model) alloc(size int64, s cuda.Stream, p *privatePool) error {
	from := m.Allocator.Alloc
	if p != nil {
		from = p.Alloc
	}
	b, err := from(size, s, memory.Untagged)
	if err != nil {
		if b != (memory.Block{}) {
			return fmt.Errorf("a block and an error: %+v, %w", b, err)
		}
		if oom := (*memory.OutOfMemoryError)(nil); errors.As(err, &oom) {
			return m.checkOutOfMemory(size, err)
		}
		return m.tolerate(err)
	}
	if size == 0 {
		if b != (memory.Block{}) {
			return fmt.Errorf("a block for 0 bytes: %+v", b)
		}
		return nil
	}
	h := &held{Block: b, requested: size, stream: s, pool: p}
	if h.twin, err = m.naive.Alloc(size); err != nil {
		return fmt.Errorf("more live bytes than the device has: %w", err)
	}
	alignment := min(granule, m.Upstream.Props().Alignment)
	switch {
	case b.Size < size || b.Size%granule != 0:
		return fmt.Errorf("%d bytes for %d", b.Size, size)
	case b.Ptr == 0 || int64(b.Ptr)%alignment != 0:
		return fmt.Errorf("address %#x is not aligned to %d", uintptr(b.Ptr), alignment)
	case m.spans.overlaps(b.Ptr, b.Size):
		return fmt.Errorf("%d bytes at %#x overlap a live block", b.Size, uintptr(b.Ptr))
	}
	m.spans.insert(region{ptr: b.Ptr, size: b.Size})
	m.live = append(m.live, h)
	if p != nil {
		p.live += b.Size
	}
	if err := m.own(b, p); err != nil {
		return err
	}
	if m.Readable {
		m.stamps++
		h.stamp = m.stamps
		h.write()
	}
	if m.fake != nil {
		return m.fake.Write(s, b.Ptr, b.Size)
	}
	return nil
}

// checkOutOfMemory accepts an OOM unless the device has so much left that the
// smallest segment for the request would fit.
func (m *model) checkOutOfMemory(size int64, oom error) error {
	const largestExtra = 2 << 20 // of the smallest segment over the request
	if m.tolerate(oom) == nil {
		return nil // the device was made to say that it is full
	}
	free, total, err := m.Upstream.MemInfo()
	if err != nil {
		return m.tolerate(err)
	}
	if m.Limit > 0 {
		free = min(free, m.Limit-(total-free))
	}
	if free-size >= largestExtra {
		return fmt.Errorf("out of memory while there is room for %d bytes: %w", free, oom)
	}
	return nil
}

// read makes a stream use a block as a careful program does: after what the
// owner did.
func (m *model) read(h *held, s cuda.Stream) error {
	if m.fake == nil || s == h.stream {
		return nil
	}
	if !slices.Contains(h.readers, s) {
		h.readers = append(h.readers, s)
	}
	m.fake.Wait(s, h.stream)
	return m.fake.Read(s, h.Ptr, h.Size)
}

// free frees a block. If that fails it must be live still.
func (m *model) free(h *held) error {
	if err := h.verify(); err != nil {
		return err
	}
	if err := m.Allocator.Free(h.Handle, h.readers...); err != nil {
		return m.tolerate(err)
	}
	return m.end(h)
}

func (m *model) abandon(h *held) error {
	if err := h.verify(); err != nil {
		return err
	}
	m.Allocator.Abandon(h.Handle, h.readers...)
	return m.end(h)
}

// end takes a block out of the model.
func (m *model) end(h *held) error {
	i := slices.Index(m.live, h)
	m.live = slices.Delete(m.live, i, i+1)
	at, _ := m.spans.find(h.Ptr)
	m.spans.remove(at, at+1)
	m.ended = append(m.ended, h.Handle)
	if h.pool != nil {
		h.pool.live -= h.Size
	}
	return m.naive.Free(h.twin)
}

// freeAgain frees a handle that ended, whose record may be another block's now.
func (m *model) freeAgain(pick int) error {
	if len(m.ended) == 0 {
		return nil
	}
	h := m.ended[len(m.ended)-1-pick%len(m.ended)]
	// What was abandoned last may not have been freed yet: reading the books
	// does it.
	m.Allocator.Stats()
	if err := m.Allocator.Free(h); !errors.Is(err, memory.ErrStaleHandle) {
		return fmt.Errorf("second free of %v: %w", h, orNil(err))
	}
	return nil
}

func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// emptyCache empties the cache of a private pool, with nil that of the rest.
func (m *model) emptyCache(p *privatePool) error {
	if p != nil {
		return m.tolerate(p.EmptyCache())
	}
	return m.tolerate(m.Allocator.EmptyCache())
}

// emptyAll empties all caches. That of the rest comes first, since it waits for
// the parked blocks of all.
func (m *model) emptyAll() error {
	err := m.emptyCache(nil)
	for _, p := range m.pools {
		if p != nil {
			err = errors.Join(err, m.emptyCache(p))
		}
	}
	return err
}

// freeAll frees what is live.
func (m *model) freeAll() {
	m.t.Helper()
	for len(m.live) > 0 {
		if err := m.free(m.live[0]); err != nil {
			m.t.Fatalf("free of what is left: %v", err)
		}
	}
	require.NoError(m.t, m.check())
	require.NoError(m.t, m.emptyAll())
}

// finish frees everything and demands that nothing is left: not in use, not in
// pieces, and after EmptyCache not at all. Then all that there is can be had in
// one piece.
func (m *model) finish() {
	m.t.Helper()
	m.freeAll()
	require.NoError(m.t, m.emptyAll())
	s := m.Allocator.Stats()
	require.NoError(m.t, m.Allocator.Check())
	for name, family := range families(&s) {
		require.Zero(m.t, family.All.Current, "%s after all was freed", name)
	}
	if m.fake != nil {
		require.Zero(m.t, m.fake.Used(), "bytes that the device still has taken")
	}
	all := must(m.t, m.Allocator, m.room(m.t), 0)
	require.NoError(m.t, m.Allocator.Free(all.Handle))
	require.NoError(m.t, m.Allocator.EmptyCache())
}

// write puts the block's stamp all over it.
func (h *held) write() {
	for _, word := range h.words() {
		binary.LittleEndian.PutUint64(word, h.stamp)
	}
}

// verify demands that the stamp is still there.
func (h *held) verify() error {
	if h.stamp == 0 {
		return nil
	}
	for _, word := range h.words() {
		if got := binary.LittleEndian.Uint64(word); got != h.stamp {
			return fmt.Errorf("contents of the block at %#x: %d, written was %d", uintptr(h.Ptr), got, h.stamp)
		}
	}
	return nil
}

// words are the places that are looked at: the ends and one in each 16 KiB,
// since writing whole blocks would be most of a test's time.
func (h *held) words() (words [][]byte) {
	const stride = 16 << 10
	p := h.Ptr
	bytes := unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), h.Size)
	for at := int64(0); at < h.Size; at += stride {
		words = append(words, bytes[at:at+8])
	}
	return append(words, bytes[h.Size-8:])
}
