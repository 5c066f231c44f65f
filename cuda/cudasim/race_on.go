//go:build race

package cudasim

import (
	"runtime"
	"unsafe"
)

// raceEnabled says that the race detector watches.
const raceEnabled = true

// hide begins what the detector must take for no synchronisation: how the
// simulator itself passes work around. show ends it. Between the two only
// functions marked norace may touch what they share.
func hide() { runtime.RaceDisable() }
func show() { runtime.RaceEnable() }

// publish and observe are an order that the program asked for: what was done
// before publish has been done after observe.
func publish(o *op) { runtime.RaceReleaseMerge(unsafe.Pointer(o)) }
func observe(o *op) { runtime.RaceAcquire(unsafe.Pointer(o)) }
