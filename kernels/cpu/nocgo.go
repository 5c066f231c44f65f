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

// convScratch is never asked for, and the others never called.
func convScratch(int64) int64 { return 0 }

func convInC(*convolution, *kernels.Args) bool           { return false }
func convGradInputInC(*convolution, *kernels.Args) bool  { return false }
func convGradWeightInC(*convolution, *kernels.Args) bool { return false }

func poolInC(kernels.ID, *kernels.View, *kernels.View, *kernels.View, *kernels.PoolAttr) bool {
	return false
}

func halvesToFloats([]float32, kernels.DType, uintptr) bool { return false }

func halvesFromFloats([]float32, kernels.DType, uintptr) bool { return false }
