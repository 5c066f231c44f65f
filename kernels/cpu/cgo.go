//go:build cgo

package cpu

// #cgo CFLAGS: -O3
// #cgo LDFLAGS: -lm
// #cgo noescape tarn_gemm
// #cgo nocallback tarn_gemm
// #cgo noescape tarn_unary
// #cgo nocallback tarn_unary
// #cgo noescape tarn_binary
// #cgo nocallback tarn_binary
// #cgo noescape tarn_compare
// #cgo nocallback tarn_compare
// #cgo noescape tarn_where
// #cgo nocallback tarn_where
// #cgo noescape tarn_to_floats
// #cgo nocallback tarn_to_floats
// #cgo noescape tarn_from_floats
// #cgo nocallback tarn_from_floats
// #cgo noescape tarn_fill
// #cgo nocallback tarn_fill
// #cgo noescape tarn_sgd
// #cgo nocallback tarn_sgd
// #cgo noescape tarn_adamw
// #cgo nocallback tarn_adamw
// #cgo noescape tarn_loss
// #cgo nocallback tarn_loss
// #cgo noescape tarn_loss_grad
// #cgo nocallback tarn_loss_grad
// #cgo noescape tarn_attention_work
// #cgo nocallback tarn_attention_work
// #cgo noescape tarn_attention
// #cgo nocallback tarn_attention
// #include "dispatch.h"
import "C"

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"tarn/kernels"
)

// isaNames are the instances of the C bodies, by their number in dispatch.h.
var isaNames = [C.NUM_ISAS]string{C.ISA_BASELINE: "baseline", C.ISA_AVX2: "avx2", C.ISA_AVX512: "avx512"}

// isaVariable is the environment variable that forces an instance: one of
// isaNames, or "go" for Go's loops.
const isaVariable = "TARN_CPU_ISA"

// chosen is what all calls use: "go" and nil, or an instance and its bodies.
var chosen struct {
	once   sync.Once
	name   string
	bodies *fast
}

// bodiesInC returns the bodies in C, nil if Go's are to be used.
func bodiesInC() *fast {
	chosen.once.Do(chooseISA)
	return chosen.bodies
}

// ISA names the instruction set that the float32 bodies use: "avx512", "avx2"
// or "baseline" in C, "go" for Go's loops. The best that the processor has is
// taken, unless TARN_CPU_ISA names another.
func ISA() string {
	chosen.once.Do(chooseISA)
	return chosen.name
}

func chooseISA() {
	if name := os.Getenv(isaVariable); name != "" {
		err := useISA(name)
		if err == nil {
			return
		}
		slog.Warn("cpu: "+isaVariable+" is ignored", "error", err)
	}
	for i := len(isaNames) - 1; i >= 0; i-- {
		if useISA(isaNames[i]) == nil {
			return
		}
	}
}

// useISA makes all later calls use the named bodies. It must not run beside
// them.
func useISA(name string) error {
	if name == "go" {
		chosen.name, chosen.bodies = name, nil
		return nil
	}
	for i, n := range isaNames {
		if n != name {
			continue
		}
		if C.tarn_isa_supported(C.int(i)) == 0 {
			return fmt.Errorf("cpu: this processor has no %s", name)
		}
		C.tarn_isa_choose(C.int(i))
		chosen.name, chosen.bodies = name, &cBodies
		return nil
	}
	return fmt.Errorf("cpu: %q is none of %s, go", name, strings.Join(isaNames[:], ", "))
}

var cBodies = fast{
	has:         hasInC,
	elementwise: elementwiseRowsInC,
	fill: func(r rows, value float32) {
		c := r.inC()
		C.tarn_fill(&c, C.float(value), threadsInC())
	},
	random: randomInC,
	words:  wordsInC,
	sgd: func(r rows, attr kernels.SGDAttr) {
		h := C.struct_sgd{lr: C.float(attr.LR), decay: C.float(attr.WeightDecay), momentum: C.float(attr.Momentum),
			take: C.float(1 - attr.Dampening), nesterov: flag(attr.Nesterov), first: flag(attr.First)}
		c := r.inC()
		C.tarn_sgd(&c, &h, threadsInC())
	},
	adamW: func(r rows, f adamW[float32]) {
		h := C.struct_adamw{shrink: C.float(f.shrink), keep1: C.float(f.keep1), take1: C.float(f.take1), keep2: C.float(f.keep2),
			take2: C.float(f.take2), rate: C.float(f.rate), root: C.float(f.root), eps: C.float(f.eps)}
		c := r.inC()
		C.tarn_adamw(&c, &h, threadsInC())
	},
	fold:         foldInC,
	foldPartials: foldPartialsInC,
	foldRun:      foldRunInC,
	index:        indexInC,
	maxGrad:      maxGradInC,
	loss:         lossInC,
	lossGrad:     lossGradInC,
	matMul:       matMulInC,
	lines:        linesInC,
	transpose:    transposeInC,
	norm:         normInC,
	batchNorm:    batchNormInC,
	normGrad:     normGradInC,

	attention:     attentionInC,
	attentionWork: attentionWorkInC,
}

func threadsInC() C.int { return C.int(Threads()) }

func (r *rows) inC() C.struct_rows {
	c := C.struct_rows{rows: C.int64_t(r.rows), n: C.int64_t(r.n)}
	for k := range r.at {
		c.half[k] = halvesInC[r.dtypes[k]]
		c.at[k], c.row[k], c.step[k] = C.uintptr_t(r.at[k]), C.int64_t(r.row[k]), C.int64_t(r.step[k])
	}
	return c
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
