//go:build !cgo

package cpu

import "tarn/kernels"

// override leaves Go's bodies in place: this build has no C.
func override(*kernels.Table) {}

// ISA names the instruction set that the float32 bodies are written for.
// Without C it is "go": whatever the Go compiler makes of plain loops.
func ISA() string { return "go" }
