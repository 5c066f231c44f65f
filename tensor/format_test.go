package tensor_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

func TestFormat(t *testing.T) { onDevices(t, checkFormat) }

func checkFormat(t *testing.T, d *tensor.Device) {
	m := tensor.FromSlice(d, []float32{1, 2.5, -3, 4, 5, 6}, 2, 3)
	const text = "tensor([[ 1.0000,  2.5000, -3.0000],\n        [ 4.0000,  5.0000,  6.0000]])"
	n := tensor.FromSlice(d, []int64{math.MaxInt64, math.MinInt64})
	const integers = "tensor([ 9223372036854775807, -9223372036854775808])"
	for format, want := range map[string]string{
		"%v": text, "%s": text, "%#v": text, "%q": fmt.Sprintf("%q", text), "%9v": text,
		"%.1f": "tensor([[ 1.0,  2.5, -3.0],\n        [ 4.0,  5.0,  6.0]])",
		"%.0e": "tensor([[ 1e+00,  2e+00, -3e+00],\n        [ 4e+00,  5e+00,  6e+00]])",
		"%d":   "%!d(tensor float32[2, 3])", "%x": "%!x(tensor float32[2, 3])",
	} {
		require.Equal(t, want, fmt.Sprintf(format, m), format)
	}
	for format, want := range map[string]string{"%v": integers, "%d": integers, "%.2v": integers, "%f": "%!f(tensor int64[2])"} {
		require.Equal(t, want, fmt.Sprintf(format, n), format)
	}
	truths := tensor.FromSlice(d, []bool{true, false})
	for format, want := range map[string]string{
		"%v": "tensor([ True, False])", "%t": "tensor([ True, False])", "%d": "%!d(tensor bool[2])", "%e": "%!e(tensor bool[2])",
	} {
		require.Equal(t, want, fmt.Sprintf(format, truths), format)
	}
	bytes := tensor.FromSlice(d, []uint8{7, 200})
	require.Equal(t, "tensor([  7, 200]) %!t(tensor uint8[2])", fmt.Sprintf("%d %t", bytes, bytes))
	half := tensor.FromSlice(d, []tensor.F16{tensor.ToF16(1.0 / 3)})
	require.Equal(t, "tensor([0.33]) tensor([3.333e-01]) %!d(tensor float16[1])", fmt.Sprintf("%.2f %.3e %d", half, half, half))
	require.Equal(t, "<nil>", fmt.Sprint((*tensor.Tensor)(nil)))
	require.Equal(t, "tensor(of nothing)", fmt.Sprint(new(tensor.Tensor)))
}

// TestFormatOfViews prints what their copies do, however long.
func TestFormatOfViews(t *testing.T) { onDevices(t, checkFormatOfViews) }

func checkFormatOfViews(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, ramp(0, 2400), 40, 60)
	for name, v := range map[string]*tensor.Tensor{
		"transpose": x.T(), "steps": x.Slice(1, 3, 50, 2), "windows": x.Unfold(1, 9, 2), "diagonal": x.Diagonal(-3, 0, 1),
		"repeated": x.Select(0, 1).Expand(30, 60), "six dims": x.Reshape(10, 4, 3, 20).Unfold(0, 8, 1).Unfold(3, 7, 2),
		"eight dims": x.Reshape(10, 1, 1, 8, 1, 1, 1, 30),
	} {
		require.NoError(t, v.Err(), name)
		require.Equal(t, fmt.Sprint(v.Clone()), fmt.Sprint(v), name)
	}
	long := fmt.Sprint(tensor.Ones(d, tensor.Float32, 1).Expand(1<<20, 1<<20))
	row := "[1., 1., 1.,  ..., 1., 1., 1.]"
	rows := strings.Repeat(row+",\n        ", 3)
	require.Equal(t, "tensor(["+rows+"...,\n        "+rows[:len(rows)-len(",\n        ")]+"])", long, "no more is read than printed")
}

func TestFormatInFull(t *testing.T) { onDevices(t, checkFormatInFull) }

func checkFormatInFull(t *testing.T, d *tensor.Device) {
	m := tensor.FromSlice(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.Equal(t, "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]], dtype=float32, shape=[3, 2], device="+d.Name()+
		", stream=default,\n       strides=[1, 3], bytes=24)", fmt.Sprintf("%+v", m.T()))
	for _, c := range []struct {
		x    *tensor.Tensor
		says string
	}{
		{m, "strides=[3, 1], bytes=24)"},
		{tensor.Scalar(d, tensor.Float64, 1).RequireGrad(), "bytes=8, requires grad)"},
		{tensor.Scalar(d, tensor.Float64, 1).RequireGrad().NoGrad(), "bytes=8)"},
		{tensor.Scalar(d, tensor.Float64, 1).RequireGrad().Exp(), "bytes=8, made by Exp)"},
		{tensor.Zeros(d, tensor.Int64, 2, 0), "tensor([], dtype=int64, shape=[2, 0], "},
	} {
		require.Contains(t, joined(fmt.Sprintf("%+v", c.x)), c.says)
	}
	wide := fmt.Sprintf("%+v", tensor.Zeros(d, tensor.Float32, 1, 1, 1, 1, 1, 1))
	for _, line := range strings.Split(wide, "\n") {
		require.LessOrEqual(t, len(line), 80, wide)
	}
	s, err := d.NewStream()
	require.NoError(t, err)
	require.Regexp(t, `stream=\d+`, fmt.Sprintf("%+v", m.On(s)))
	require.NoError(t, s.Close())
}

// joined undoes the wrapping of what %+v adds.
func joined(text string) string { return strings.ReplaceAll(text, ",\n       ", ", ") }

// TestFormatOfWhatCannotBeRead says why and nothing panics.
func TestFormatOfWhatCannotBeRead(t *testing.T) { onDevices(t, checkFormatOfWhatCannotBeRead) }

func checkFormatOfWhatCannotBeRead(t *testing.T, d *tensor.Device) {
	m := tensor.Ones(d, tensor.Float32, 2, 3)
	failed, released := m.MatMul(m), m.Clone()
	require.NoError(t, released.Release())
	s := tensor.NewScope()
	scoped := m.In(s).Clone()
	require.NoError(t, s.Close())
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%.2v", "%e"} {
		require.Contains(t, fmt.Sprintf(verb, failed), "tensor: MatMul [2, 3], [2, 3] at ", verb)
		require.Contains(t, fmt.Sprintf(verb, released), "tensor(tensor is released", verb)
		require.Contains(t, fmt.Sprintf(verb, scoped), "is closed", verb)
	}
	require.Contains(t, joined(fmt.Sprintf("%+v", released)), "shape=[2, 3]")
	unknown := tensor.Zeros(d, 99, 2)
	require.Contains(t, fmt.Sprintf("%v %+v", unknown, unknown), "DType(99)")
	require.NotContains(t, fmt.Sprintf("%v %+v %d %f", unknown, unknown, unknown, unknown), "PANIC")
}
