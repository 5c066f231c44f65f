//go:build race

package ptx

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// raceEnabled says that the race detector watches. Every access to global
// memory is told to it and the rest is hidden, as far as that pays: registers
// and shared memory belong to one goroutine.
const raceEnabled = true

// raceAccess tells of a load or store.
//
//go:norace
func raceAccess(b []byte, store bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if store {
		runtime.RaceWriteRange(p, len(b))
	} else {
		runtime.RaceReadRange(p, len(b))
	}
}

// raceOrder puts an atomic after those that the launch has done before: through
// atomics the blocks of a launch may hand each other what they wrote. It does
// not order launches.
func raceOrder(o *order) {
	runtime.RaceAcquire(unsafe.Pointer(o))
	runtime.RaceReleaseMerge(unsafe.Pointer(o))
}

// raceHide begins a change of memory in one step. Go's atomics, which make it,
// put one goroutine after the other, and a device's do no such thing to streams.
func raceHide() { runtime.RaceDisable() }

// raceShow ends it and tells of it by a swap that fails: to the detector that is
// an atomic write, which collides with plain accesses and not with atomics, and
// hands nothing on to the next one. There is none of 2 bytes; those pass as a
// load, so that only stores collide with them.
func raceShow(b []byte) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	switch len(b) {
	case 2:
		runtime.RaceEnable()
		raceAccess(b, false)
	case 4:
		word := (*uint32)(p)
		other := ^atomic.LoadUint32(word)
		runtime.RaceEnable()
		atomic.CompareAndSwapUint32(word, other, other)
	default:
		word := (*uint64)(p)
		other := ^atomic.LoadUint64(word)
		runtime.RaceEnable()
		atomic.CompareAndSwapUint64(word, other, other)
	}
}
