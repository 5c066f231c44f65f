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
// #cgo noescape tarn_fill
// #cgo nocallback tarn_fill
// #cgo noescape tarn_sum
// #cgo nocallback tarn_sum
// #cgo noescape tarn_sum_columns
// #cgo nocallback tarn_sum_columns
// #cgo noescape tarn_max
// #cgo nocallback tarn_max
// #cgo noescape tarn_loss
// #cgo nocallback tarn_loss
// #cgo noescape tarn_loss_grad
// #cgo nocallback tarn_loss_grad
// #cgo noescape tarn_sgd
// #cgo nocallback tarn_sgd
// #cgo noescape tarn_adamw
// #cgo nocallback tarn_adamw
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
	unary: func(id kernels.ID, out, x uintptr, n int64, alpha, beta float32) {
		C.tarn_unary(unaryInC[id], C.uintptr_t(out), C.uintptr_t(x), C.int64_t(n), C.float(alpha), C.float(beta))
	},
	binary: func(id kernels.ID, out, x uintptr, xstep int64, y uintptr, ystep int64, n int64) {
		C.tarn_binary(binaryInC[id], C.uintptr_t(out), C.uintptr_t(x), C.int64_t(xstep), C.uintptr_t(y), C.int64_t(ystep), C.int64_t(n))
	},
	fill: func(out uintptr, n int64, value float32) {
		C.tarn_fill(C.uintptr_t(out), C.int64_t(n), C.float(value))
	},
	sum: func(x uintptr, n int64) float64 { return float64(C.tarn_sum(C.uintptr_t(x), C.int64_t(n))) },
	sumColumns: func(out, x uintptr, ld, rows, n int64, alpha float64, accumulate bool) {
		C.tarn_sum_columns(C.uintptr_t(out), C.uintptr_t(x), C.int64_t(ld), C.int64_t(rows), C.int64_t(n), C.double(alpha), C.int(flag(accumulate)))
	},
	max:      func(x uintptr, n int64) float32 { return float32(C.tarn_max(C.uintptr_t(x), C.int64_t(n))) },
	loss:     lossInC,
	lossGrad: lossGradInC,
	sgd: func(p, m, g uintptr, n int64, attr kernels.SGDAttr) {
		h := C.struct_sgd{lr: C.float(attr.LR), decay: C.float(attr.WeightDecay), momentum: C.float(attr.Momentum),
			take: C.float(1 - attr.Dampening), nesterov: flag(attr.Nesterov), first: flag(attr.First)}
		C.tarn_sgd(&h, C.uintptr_t(p), C.uintptr_t(m), C.uintptr_t(g), C.int64_t(n))
	},
	adamW: func(p, m, v, g uintptr, n int64, f adamW[float32]) {
		h := C.struct_adamw{shrink: C.float(f.shrink), keep1: C.float(f.keep1), take1: C.float(f.take1), keep2: C.float(f.keep2),
			take2: C.float(f.take2), rate: C.float(f.rate), root: C.float(f.root), eps: C.float(f.eps)}
		C.tarn_adamw(&h, C.uintptr_t(p), C.uintptr_t(m), C.uintptr_t(v), C.uintptr_t(g), C.int64_t(n))
	},
	matMul: matMulInC,
}

// The numbers of the elementwise ops in C; arrays, since every run looks one up.
var unaryInC = [kernels.NumOps]C.int{kernels.Affine: C.AFFINE, kernels.Exp: C.EXP, kernels.Log: C.LOG, kernels.Sqrt: C.SQRT, kernels.ReLU: C.RELU}

var binaryInC = [kernels.NumOps]C.int{kernels.Add: C.ADD, kernels.Sub: C.SUB, kernels.Mul: C.MUL, kernels.Div: C.DIV, kernels.ReLUGrad: C.RELU_GRAD}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
