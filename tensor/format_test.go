package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

func TestFormat(t *testing.T) { onDevices(t, checkFormat) }

func checkFormat(t *testing.T, d *tensor.Device) {
	m := tensor.FromSlice(d, []float32{1, 2.5, -3, 4, 5, 6}, 2, 3)
	require.Equal(t, "tensor([[1, 2.5, -3],\n        [4, 5, 6]])", fmt.Sprint(m))
	require.Equal(t, "tensor([[1, 4],\n        [2.5, 5],\n        [-3, 6]], dtype=float32, shape=[3, 2], device="+d.Name()+", strides=[1, 3], bytes=24)",
		fmt.Sprintf("%+v", m.T()))
	require.Equal(t, "tensor(0.33)", fmt.Sprintf("%.2v", tensor.Scalar(d, tensor.Float64, 1.0/3)))
	require.Equal(t, "tensor([])", fmt.Sprint(tensor.Zeros(d, tensor.Float32, 0)))
	require.Equal(t, "tensor([[], []])", fmt.Sprint(tensor.Zeros(d, tensor.Float32, 2, 0)))
	require.Equal(t, fmt.Sprintf("tensor([%d, %d])", math.MaxInt64, math.MinInt64),
		fmt.Sprint(tensor.FromSlice(d, []int64{math.MaxInt64, math.MinInt64})), "integers are exact")
	require.Equal(t, "tensor([NaN, +Inf, -Inf])", fmt.Sprint(tensor.FromSlice(d, []float64{math.NaN(), math.Inf(1), math.Inf(-1)})))
	long := fmt.Sprint(tensor.Zeros(d, tensor.Float32, 200, 200))
	require.Less(t, len(long), 400)
	require.Contains(t, long, "...")
	cube := fmt.Sprint(tensor.Zeros(d, tensor.Float32, 2, 1, 2))
	require.Equal(t, "tensor([[[0, 0]],\n\n        [[0, 0]]])", cube)
	require.Contains(t, fmt.Sprint(m.MatMul(m)), "shapes do not fit")
	require.Equal(t, "%!d(tensor float32[2, 3])", fmt.Sprintf("%d", m))
}
