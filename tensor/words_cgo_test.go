//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// TestStepWithABadClass: it leaves the weights finite, and printing does not take
// the error from who looks for it.
func TestStepWithABadClass(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{})
	w := tensor.Full(d, tensor.Float32, 0.5, 2, 3).RequireGrad()
	x := tensor.FromSlice(d, []float32{1, 2, 3, float32(math.Inf(1))}, 2, 2)
	classes := tensor.FromSlice(d, []int64{1, 7})
	require.NoError(t, d.Synchronize())
	loss := x.MatMul(w).CrossEntropy(classes)
	require.NoError(t, loss.Backward())
	require.Contains(t, fmt.Sprint(loss), "nan")
	err := d.Synchronize()
	require.ErrorIs(t, err, tensor.ErrIndex)
	require.ErrorContains(t, err, "class 7 in row 1")

	x = tensor.Ones(d, tensor.Float32, 2, 2)
	require.NoError(t, errors.Join(w.ZeroGrad(), x.MatMul(w).CrossEntropy(classes).Backward()))
	require.NoError(t, tensor.StepSGD([]*tensor.Tensor{w}, nil, tensor.SGD{LR: 0.1}))
	_, err = loss.Item()
	require.ErrorIs(t, err, tensor.ErrIndex, "a read tells it too")
	for _, v := range data32(t, w.Detach()) {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
	}
}

// TestPlaceOfAPrintedError is who prints.
func TestPlaceOfAPrintedError(t *testing.T) {
	m, _, d := newContext(t, cudasim.Config{})
	x := tensor.Ones(d, tensor.Float32, 2)
	m.Fail(cudasim.Fault{N: 1, Code: int(cuda.NotSupported)})
	text := fmt.Sprint(x)
	require.Contains(t, text, "Format [2] at ")
	require.Contains(t, text, "words_cgo_test.go:")
}

// TestDroppedGraphMakesRoom where memory runs short.
func TestDroppedGraphMakesRoom(t *testing.T) {
	const pageful = 3 << 17 // elements of 1.5 MiB: two tensors of them do not share a page
	_, _, d := newContext(t, cudasim.Config{Memory: 2 * 2 << 20})
	captured(t, d.DefaultStream(), pageful)
	collect(d)
	require.NoError(t, tensor.Ones(d, tensor.Float32, 2*pageful).Err())
}

func TestErrorsSayThingsOnce(t *testing.T) {
	_, c, a := newContext(t, cudasim.Config{})
	_, _, b := newContext(t, cudasim.Config{})
	err := tensor.Ones(a, tensor.Float32, 2).Add(tensor.Ones(b, tensor.Float32, 2)).Err()
	require.ErrorIs(t, err, tensor.ErrDevice)
	require.ErrorContains(t, err, "two devices that are both called cuda:0")
	_, err = tensor.NewCUDA(c, memory.Config{Limit: -1})
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(err.Error(), "open cuda:0"), "%v", err)
}
