package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/memory"
)

// Storage is the bytes that tensors share: one block of the device's
// allocator and the record of who uses it. A handle, a view and a graph node
// each hold it; the last one to let go frees the block. Who forgets to let go
// is caught by the storage's scope, or without one by the garbage collector.
type Storage struct {
	dev   *Device
	block memory.Block
	home  *Stream // the stream that the block was allocated on
	holds atomic.Int32
	// version counts in-place changes, so that backward sees that what it
	// saved is no longer what it was.
	version atomic.Uint32
	freed   atomic.Bool
	graph   *capture // whose memory the block is; nil for everybody's

	// owner is the scope's list that frees the block at the latest; nil: the
	// garbage collector, by cleanup. It and slot change under the list's mu.
	owner atomic.Pointer[owned]
	slot  int

	mu      sync.Mutex // guards all below
	cleanup runtime.Cleanup
	// The uses that a later use may have to wait for; empty where the device
	// runs ops at once.
	write use   // the last write
	reads []use // the last read after it, of each stream that read
}

// newStorage allocates size bytes on the stream. The caller owns the one hold.
func newStorage(s *Stream, scope *Scope, size int64, tag memory.Tag) (*Storage, error) {
	block, err := s.alloc(size, tag)
	if err != nil {
		return nil, err
	}
	st := &Storage{dev: s.dev, block: block, home: s, graph: s.capture.Load()}
	st.holds.Store(1)
	if scope == nil {
		st.guard()
		return st, nil
	}
	if err := scope.owned.add(st); err != nil {
		return nil, errors.Join(err, s.dev.mem.Free(block.Handle))
	}
	return st, nil
}

func (st *Storage) retain() *Storage {
	st.holds.Add(1)
	return st
}

// drop ends one hold; the last one frees the block.
func (st *Storage) drop() error {
	if st.holds.Add(-1) > 0 {
		return nil
	}
	if o := st.owner.Load(); o != nil {
		o.remove(st)
	}
	return st.free()
}

// free gives the block back, once, in stream order: other streams that still
// use it are named to the allocator, which holds the block until they are done.
func (st *Storage) free() error {
	if st.freed.Swap(true) {
		return nil
	}
	st.unguard()
	visitors := st.visitors()
	if len(visitors) == 0 {
		if st.dev.poisons {
			return errors.Join(st.poison(), st.dev.mem.Free(st.block.Handle))
		}
		return st.dev.mem.Free(st.block.Handle)
	}
	free := func(ids []cuda.Stream) error { return st.dev.mem.Free(st.block.Handle, ids...) }
	if err := freeAfter(visitors, free); err != nil {
		return st.freeAfterWaiting(visitors, err)
	}
	return nil
}

// freeAfterWaiting frees the block where the device cannot be told to wait for
// its visitors, for the reason failed: nobody else would come back to it.
func (st *Storage) freeAfterWaiting(visitors []*Stream, failed error) error {
	for _, s := range visitors {
		if s.gone.Load() {
			continue
		}
		if err := s.dev.backend.Synchronize(s.id); err != nil {
			return errors.Join(failed, err)
		}
	}
	if err := st.dev.mem.Free(st.block.Handle); err != nil {
		return errors.Join(failed, err)
	}
	return nil
}

// visitors returns the streams other than home that the storage was used on.
func (st *Storage) visitors() []*Stream {
	if !st.dev.async {
		return nil
	}
	if c := st.dev.capture.Load(); c != nil {
		if streams, ok := c.visitors(st); ok {
			return streams
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.visitorsLocked()
}

func (st *Storage) visitorsLocked() []*Stream {
	var streams []*Stream
	if st.write.stream != nil && st.write.stream != st.home {
		streams = append(streams, st.write.stream)
	}
	for _, r := range st.reads {
		if r.stream != st.home && r.stream != st.write.stream {
			streams = append(streams, r.stream)
		}
	}
	return streams
}

// freeAfter calls free with the ids of those streams that are not gone. None of
// them can go before free returns: an id may be another stream's afterwards.
func freeAfter(streams []*Stream, free func(ids []cuda.Stream) error) error {
	d := streams[0].dev
	d.naming.RLock()
	defer d.naming.RUnlock()
	ids := make([]cuda.Stream, 0, len(streams))
	for _, s := range streams {
		if !s.gone.Load() {
			ids = append(ids, s.id)
		}
	}
	return free(ids)
}

// moveTo gives the storage to another scope's list or, for nil, to the garbage
// collector.
func (st *Storage) moveTo(to *owned) error {
	from := st.owner.Load()
	switch {
	case from == to:
		return nil
	case from == nil:
		st.unguard()
	case !from.remove(st):
		return st.whyFreed()
	}
	if to != nil {
		if err := to.add(st); err != nil {
			st.owner.Store(nil)
			st.guard()
			return err
		}
		return nil
	}
	st.owner.Store(nil)
	st.guard()
	return nil
}

// before returns the uses that a launch on s must wait for: a reader waits for
// the last write, a writer for the reads since as well.
func (st *Storage) before(s *Stream, writes bool, buf []use) []use {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.write.stream != nil && st.write.stream != s {
		buf = append(buf, st.write)
	}
	if writes {
		for _, r := range st.reads {
			if r.stream != s {
				buf = append(buf, r)
			}
		}
	}
	return buf
}

// record notes the use u.
func (st *Storage) record(u use, writes bool) {
	st.mu.Lock()
	visits := u.stream != st.home && st.owner.Load() == nil
	if writes {
		visits = visits && st.write.stream != u.stream
		st.write, st.reads = u, st.reads[:0]
	} else {
		found := false
		for i := range st.reads {
			if st.reads[i].stream == u.stream {
				st.reads[i], found = u, true
			}
		}
		if !found {
			st.reads = append(st.reads, u)
		}
		visits = visits && !found
	}
	st.mu.Unlock()
	if visits && !st.freed.Load() {
		st.guard()
	}
}

// whyFreed says how the storage went: with its scope, or by a Release of
// another handle's.
func (st *Storage) whyFreed() error {
	if o := st.owner.Load(); o != nil && o.closed.Load() {
		return fmt.Errorf("%w: %v is closed", ErrReleased, o)
	}
	return ErrReleased
}
