//go:build cgo

package cpu

import "tarn/kernels"

// override leaves Go's bodies in place.
func override(*kernels.Table) {}

// ISA names the instruction set that the float32 bodies are written for.
func ISA() string { return "go" }
