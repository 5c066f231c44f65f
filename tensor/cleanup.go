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
	usedOn []cuda.Stream
}

func abandon(r remains) { r.mem.Abandon(r.handle, r.usedOn...) }

// guard hangs the net under st.
func (st *Storage) guard() {
	if st.block.Ptr == 0 {
		return
	}
	st.cleanup = runtime.AddCleanup(st, abandon, remains{mem: st.dev.mem, handle: st.block.Handle})
}

// reguard renews the net after another stream than home used st for the first
// time, so that the allocator waits for that stream too.
func (st *Storage) reguard() {
	if st.block.Ptr == 0 || st.freed.Load() {
		return
	}
	st.cleanup.Stop()
	st.cleanup = runtime.AddCleanup(st, abandon,
		remains{mem: st.dev.mem, handle: st.block.Handle, usedOn: st.visitors()})
}
