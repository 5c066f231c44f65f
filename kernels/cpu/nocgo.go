//go:build !cgo

package cpu

import "tarn/kernels"

// bodiesInC returns nil: this build has no C.
func bodiesInC() *fast { return nil }

// scratchBytes is never asked for.
func scratchBytes(*kernels.Args) int64 { return 0 }

// ISA names the instruction set that the float32 bodies are written for.
// Without C it is "go": whatever the Go compiler makes of plain loops.
func ISA() string { return "go" }
