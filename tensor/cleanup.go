package tensor

import (
	"runtime"

	"tarn/cuda"
	"tarn/memory"
)

// The net under storages that no scope holds: when the garbage collector finds
// one unreachable, its block is queued for the allocator, which frees it at its
// next chance. A cleanup runs on a goroutine of the runtime, so it touches
// neither the device nor a lock of the allocator.

// remains is what is left to do for a storage that is gone. It must not reach
// the storage, or the cleanup would never run.
type remains struct {
	mem    *memory.Allocator
	handle memory.Handle
	usedOn []*Stream
}

func abandon(r remains) {
	if len(r.usedOn) == 0 {
		r.mem.Abandon(r.handle)
		return
	}
	_ = freeAfter(r.usedOn, func(ids []cuda.Stream) error { // which has no error
		r.mem.Abandon(r.handle, ids...)
		return nil
	})
}

// guard hangs the net under st, or renews it: after another stream than home
// used st for the first time, the allocator must wait for that stream too.
func (st *Storage) guard() {
	if st.block.Ptr == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cleanup.Stop()
	r := remains{mem: st.dev.mem, handle: st.block.Handle, usedOn: st.visitorsLocked()}
	st.cleanup = runtime.AddCleanup(st, abandon, r)
}

// unguard takes the net away, where there is one.
func (st *Storage) unguard() {
	if st.block.Ptr == 0 {
		return
	}
	st.mu.Lock()
	st.cleanup.Stop()
	st.cleanup = runtime.Cleanup{}
	st.mu.Unlock()
}

// guardScope hangs a net under s: when it is dropped open, what it owns is left
// to the garbage collector, each storage by itself, since a tensor of another
// scope may still hold one.
func guardScope(s *Scope) runtime.Cleanup { return runtime.AddCleanup(s, (*owned).scatter, s.owned) }

// guardGraph hangs a net under g: when it is dropped, the device may close what
// is in it.
func guardGraph(g *Graph) { runtime.AddCleanup(g, (*graph).drop, g.body) }

// scatter hands all storages to the garbage collector. Where the scope was
// closed there are none.
func (o *owned) scatter() {
	o.mu.Lock()
	storages := o.storages
	o.storages = nil
	for _, st := range storages {
		st.owner.Store(nil)
	}
	o.mu.Unlock()
	for _, st := range storages {
		if !st.freed.Load() {
			st.guard()
		}
	}
	o.parent.forget(o)
}
