package cpu

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// operand returns a dense operand of float32 over memory that lives as long as
// the test binary.
func operand(dims ...int64) kernels.View {
	v := kernels.View{DType: kernels.Float32, Rank: int8(len(dims))}
	n := int64(1)
	for d := len(dims) - 1; d >= 0; d-- {
		v.Dims[d], v.Strides[d] = dims[d], n
		n *= dims[d]
	}
	memory := make([]float32, n+1)
	for i := range memory {
		memory[i] = float32(i%13)/13 - 0.5
	}
	kept = append(kept, memory)
	v.Ptr = uintptr(unsafe.Pointer(&memory[0]))
	return v
}

var kept [][]float32

func transpose(v kernels.View) kernels.View {
	v.Dims[0], v.Dims[1] = v.Dims[1], v.Dims[0]
	v.Strides[0], v.Strides[1] = v.Strides[1], v.Strides[0]
	return v
}

// newCall returns the Args of a call of op, with workspace.
func newCall(op *kernels.Op, out kernels.View, in ...kernels.View) *kernels.Args {
	return withWorkspace(op, &kernels.Args{Out: []kernels.View{out}, In: in})
}

func withWorkspace(op *kernels.Op, a *kernels.Args) *kernels.Args {
	if op.Workspace != nil {
		if n := op.Workspace(a); n > 0 {
			a.Work = operand(n/4 + 16)
			a.Work.Ptr = (a.Work.Ptr + 63) &^ 63
		}
	}
	return a
}

// as returns v with a dtype of the set, float32 where it is there. An element
// then lies in four bytes, or they are the beginning of some.
func as(types kernels.DTypes, v kernels.View) kernels.View {
	if !types.Has(v.DType) {
		v.DType = types.List()[0]
		if v.DType.Size() == 8 {
			v.Dims[0] /= 2
		}
	}
	return v
}

// TestGoNeedsWorkspace: a call without the workspace that it asked for is an
// error.
func TestGoNeedsWorkspace(t *testing.T) {
	table := goTable()
	long := operand(partialLen + 1)
	for id, a := range map[kernels.ID]*kernels.Args{
		kernels.Sum:    newCall(table[kernels.Sum], operand(1), long),
		kernels.Max:    newCall(table[kernels.Max], operand(1), long),
		kernels.MatMul: newCall(table[kernels.MatMul], operand(3, 3), operand(3, 3), operand(3, 3)),
	} {
		require.NoError(t, table[id].Run(Queue(), a), "%v", id)
		a.Work = kernels.View{}
		require.ErrorIs(t, table[id].Run(Queue(), a), kernels.ErrAddress, "%v", id)
	}
}
