//go:build race

package ptx

import (
	"runtime"
	"unsafe"
)

// raceEnabled says that the race detector watches. Loads and stores of 4 bytes
// tell it what they touch of global memory and hide the rest: registers and
// shared memory belong to one goroutine.
const raceEnabled = true

//go:norace
func raceRead(b []byte) { runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

//go:norace
func raceWrite(b []byte) { runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }
