package tensor_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

var allDTypes = kernels.AnyDType.List()

// dtypesOn returns the types that d fills and copies: all, but on the CPU, whose
// kernels have at least the wide ones.
func dtypesOn(t *testing.T, d *tensor.Device) []tensor.DType {
	t.Helper()
	have := slices.DeleteFunc(slices.Clone(allDTypes), func(dt tensor.DType) bool { return tensor.Zeros(d, dt, 1).Err() != nil })
	if d.Name() == "cpu" {
		require.Subset(t, have, []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int64})
		return have
	}
	require.Equal(t, allDTypes, have)
	return have
}

func dtypeNamed(t *testing.T, name string) tensor.DType {
	t.Helper()
	for _, dt := range allDTypes {
		if dt.String() == name {
			return dt
		}
	}
	t.Fatalf("no dtype is called %q", name)
	return 0
}

func mapped[T, U any](values []T, f func(T) U) []U {
	out := make([]U, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

// ofNumbers makes a tensor of any dtype of numbers that the dtype has, or rounds
// to, by the host alone.
func ofNumbers(p tensor.Place, dt tensor.DType, values []float64, shape ...int) *tensor.Tensor {
	switch dt {
	case tensor.Float32:
		return tensor.FromSlice(p, mapped(values, func(v float64) float32 { return float32(v) }), shape...)
	case tensor.Float64:
		return tensor.FromSlice(p, values, shape...)
	case tensor.Float16:
		return tensor.FromSlice(p, mapped(values, func(v float64) tensor.F16 { return tensor.ToF16(float32(v)) }), shape...)
	case tensor.BFloat16:
		return tensor.FromSlice(p, mapped(values, func(v float64) tensor.BF16 { return tensor.ToBF16(float32(v)) }), shape...)
	case tensor.Int64:
		return tensor.FromSlice(p, mapped(values, func(v float64) int64 { return int64(v) }), shape...)
	case tensor.Int32:
		return tensor.FromSlice(p, mapped(values, func(v float64) int32 { return int32(v) }), shape...)
	case tensor.Uint8:
		return tensor.FromSlice(p, mapped(values, func(v float64) uint8 { return uint8(v) }), shape...)
	default:
		return tensor.FromSlice(p, mapped(values, func(v float64) bool { return v != 0 }), shape...)
	}
}

// numbersOf reads x's elements of any dtype, widened by the host alone.
func numbersOf(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	switch x.DType() {
	case tensor.Float32:
		return readNumbers(t, x, func(v float32) float64 { return float64(v) })
	case tensor.Float64:
		return readNumbers(t, x, func(v float64) float64 { return v })
	case tensor.Float16:
		return readNumbers(t, x, func(v tensor.F16) float64 { return float64(v.Float32()) })
	case tensor.BFloat16:
		return readNumbers(t, x, func(v tensor.BF16) float64 { return float64(v.Float32()) })
	case tensor.Int64:
		return readNumbers(t, x, func(v int64) float64 { return float64(v) })
	case tensor.Int32:
		return readNumbers(t, x, func(v int32) float64 { return float64(v) })
	case tensor.Uint8:
		return readNumbers(t, x, func(v uint8) float64 { return float64(v) })
	default:
		return readNumbers(t, x, func(v bool) float64 { return map[bool]float64{true: 1}[v] })
	}
}

func readNumbers[T tensor.Element](t *testing.T, x *tensor.Tensor, f func(T) float64) []float64 {
	t.Helper()
	data, err := tensor.Data[T](x)
	require.NoError(t, err)
	copied := make([]T, len(data))
	require.NoError(t, tensor.CopyTo(copied, x))
	require.Equal(t, fmt.Sprint(data), fmt.Sprint(copied))
	return mapped(data, f)
}

// requireNumbers compares bit by bit, but that any NaN is one.
func requireNumbers(t *testing.T, want, got []float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		same := math.Float64bits(w) == math.Float64bits(got[i]) || math.IsNaN(w) && math.IsNaN(got[i])
		require.True(t, same, "%s: element %d is %v, want %v", what, i, got[i], w)
	}
}

// TestEveryDType puts elements there, gets them back, changes them, and reads one.
func TestEveryDType(t *testing.T) { onDevices(t, checkEveryDType) }

func checkEveryDType(t *testing.T, d *tensor.Device) {
	for _, dt := range dtypesOn(t, d) {
		name := dt.String()
		values := map[tensor.DType][]float64{
			tensor.Bool: {1, 0, 0, 1, 1, 0}, tensor.Uint8: {0, 1, 127, 128, 200, 255},
			tensor.Int32: {0, -1, 1, math.MaxInt32, math.MinInt32, 7}, tensor.Int64: {0, -1, 1, 1 << 53, math.MinInt64, 7},
		}[dt]
		if dt.IsFloat() {
			values = []float64{1.5, -0.25, math.Inf(1), math.NaN(), math.Copysign(0, -1), 0x1p-14}
		}
		x := ofNumbers(d, dt, values, 2, 3)
		require.NoError(t, x.Err(), name)
		require.Equal(t, dt, x.DType())
		requireNumbers(t, values, numbersOf(t, x), name)
		turned := []float64{values[0], values[3], values[1], values[4], values[2], values[5]}
		requireNumbers(t, turned, numbersOf(t, x.T()), name+" transposed")
		for i, v := range values {
			item, err := x.Slice(0, i/3, i/3+1, 1).Slice(1, i%3, i%3+1, 1).Item()
			require.NoError(t, err)
			requireNumbers(t, []float64{v}, []float64{item}, name+" item")
		}
		require.NoError(t, x.Slice(1, 1, 2, 1).Fill(1))
		requireNumbers(t, []float64{values[0], 1, values[2], values[3], 1, values[5]}, numbersOf(t, x), name+" filled")
		require.NoError(t, x.T().CopyInPlace(ofNumbers(d, dt, turned, 3, 2)))
		requireNumbers(t, values, numbersOf(t, x), name+" copied")
		requireNumbers(t, make([]float64, 3), numbersOf(t, tensor.Zeros(d, dt, 3)), name+" zeros")
		requireNumbers(t, []float64{1, 1}, numbersOf(t, tensor.Ones(d, dt, 2)), name+" ones")
		requireNumbers(t, values, numbersOf(t, x.ToDevice(newCPU(t))), name+" on another device")
		require.Empty(t, numbersOf(t, ofNumbers(d, dt, nil, 0, 2)))

		constant := ofNumbers(tensor.CPU(), dt, values[:1]).Reshape()
		require.NoError(t, x.CopyInPlace(constant))
		v := values[0]
		requireNumbers(t, []float64{v, v, v, v, v, v}, numbersOf(t, x), name+" of a constant")

		y := x.RequireGrad()
		if dt.IsFloat() {
			require.NoError(t, y.Err(), name)
			continue
		}
		require.ErrorIs(t, y.Err(), tensor.ErrDType, name)
		require.False(t, x.RequiresGrad())
	}
}

// TestSlicesOfOtherTypes: no two Go types are taken for each other.
func TestSlicesOfOtherTypes(t *testing.T) {
	d := newCPU(t)
	for _, dt := range allDTypes {
		x := ofNumbers(d, dt, []float64{1})
		for want, err := range map[tensor.DType]error{
			tensor.Float32: tensor.CopyFrom(x, []float32{0}), tensor.Float64: tensor.CopyFrom(x, []float64{0}),
			tensor.Float16: tensor.CopyFrom(x, []tensor.F16{0}), tensor.BFloat16: tensor.CopyFrom(x, []tensor.BF16{0}),
			tensor.Int64: tensor.CopyFrom(x, []int64{0}), tensor.Int32: tensor.CopyFrom(x, []int32{0}),
			tensor.Uint8: tensor.CopyFrom(x, []uint8{0}), tensor.Bool: tensor.CopyFrom(x, []bool{false}),
		} {
			if want == dt {
				require.NoError(t, err, "%v", dt)
				continue
			}
			require.ErrorIs(t, err, tensor.ErrDType, "%v", dt)
			require.ErrorContains(t, err, fmt.Sprintf("the slice holds %v, the tensor %v", want, dt))
		}
	}
}

// dtypeCases is what PyTorch converts and fills with; make_dtypes.py says more.
type dtypeCases struct {
	Torch       string
	Conversions []struct {
		From, To      string
		Before, After []string
	}
	Fills []struct {
		DType, Value string
		After        *string
	}
}

func loadDTypeCases(t *testing.T) (c dtypeCases) {
	text, err := os.ReadFile("testdata/torch/dtypes.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &c))
	require.Len(t, c.Conversions, len(allDTypes)*len(allDTypes))
	require.NotEmpty(t, c.Fills)
	return c
}

func parsed(t *testing.T, texts ...string) []float64 {
	return mapped(texts, func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return v
	})
}

// TestConvertsAsPyTorch converts each dtype to each.
func TestConvertsAsPyTorch(t *testing.T) { onDevices(t, checkConvertsAsPyTorch) }

func checkConvertsAsPyTorch(t *testing.T, d *tensor.Device) {
	have := dtypesOn(t, d)
	for _, c := range loadDTypeCases(t).Conversions {
		if !slices.Contains(have, dtypeNamed(t, c.From)) || !slices.Contains(have, dtypeNamed(t, c.To)) {
			continue
		}
		before, after := parsed(t, c.Before...), parsed(t, c.After...)
		x := ofNumbers(d, dtypeNamed(t, c.From), before)
		requireNumbers(t, before, numbersOf(t, x), c.From)
		y := x.To(dtypeNamed(t, c.To))
		require.NoError(t, y.Err())
		requireNumbers(t, after, numbersOf(t, y), c.From+" to "+c.To)
	}
}

// TestFillsAsPyTorch fills with what a dtype holds, and is refused the rest.
func TestFillsAsPyTorch(t *testing.T) { onDevices(t, checkFillsAsPyTorch) }

func checkFillsAsPyTorch(t *testing.T, d *tensor.Device) {
	have := dtypesOn(t, d)
	for _, c := range loadDTypeCases(t).Fills {
		if !slices.Contains(have, dtypeNamed(t, c.DType)) {
			continue
		}
		dt, value, says := dtypeNamed(t, c.DType), parsed(t, c.Value)[0], c.Value+" as "+c.DType
		x, y := tensor.Full(d, dt, value, 2), tensor.Zeros(d, dt, 2)
		before := live(d)
		err := y.Fill(value)
		if c.After == nil {
			require.ErrorIs(t, x.Err(), tensor.ErrValue, says)
			require.ErrorIs(t, err, tensor.ErrValue, says)
			require.ErrorIs(t, tensor.Scalar(d, dt, value).Err(), tensor.ErrValue, says)
			require.LessOrEqual(t, live(d), before, "nothing is left")
			requireNumbers(t, []float64{0, 0}, numbersOf(t, y), says)
			continue
		}
		require.NoError(t, err, says)
		want := parsed(t, *c.After, *c.After)
		requireNumbers(t, want, numbersOf(t, x), says)
		requireNumbers(t, want, numbersOf(t, y), says)
	}
}

// TestGradientsThroughDTypes: a gradient comes back in the dtype of its leaf, and
// an integer or a Bool cuts history.
func TestGradientsThroughDTypes(t *testing.T) { onDevices(t, checkGradientsThroughDTypes) }

func checkGradientsThroughDTypes(t *testing.T, d *tensor.Device) {
	have := dtypesOn(t, d)
	for _, from := range have {
		if !from.IsFloat() {
			continue
		}
		for _, to := range have {
			x := ofNumbers(d, from, []float64{1, 0.5, -3}).RequireGrad()
			y := x.To(to)
			require.NoError(t, y.Err())
			if !to.IsFloat() {
				require.False(t, y.RequiresGrad(), "%v to %v", from, to)
				continue
			}
			up := ofNumbers(d, to, []float64{0.25, -2, 100})
			require.NoError(t, y.BackwardWith(up), "%v to %v", from, to)
			require.Equal(t, from, x.Grad().DType())
			requireNumbers(t, []float64{0.25, -2, 100}, numbersOf(t, x.Grad()), from.String()+" from "+to.String())
		}
	}
}

// TestStepsRefuseHalves: a step of a half parameter changes none.
func TestStepsRefuseHalves(t *testing.T) { onDevices(t, checkStepsRefuseHalves) }

func checkStepsRefuseHalves(t *testing.T, d *tensor.Device) {
	for _, dt := range dtypesOn(t, d) {
		if !dt.IsHalf() {
			continue
		}
		params := []*tensor.Tensor{
			ofNumbers(d, tensor.Float32, []float64{1}).RequireGrad(), ofNumbers(d, dt, []float64{1}).RequireGrad(),
		}
		var state []*tensor.Tensor
		for _, p := range params {
			require.NoError(t, p.BackwardWith(ofNumbers(d, p.DType(), []float64{1})))
			state = append(state, ofNumbers(d, p.DType(), []float64{0}))
		}
		for _, err := range []error{
			tensor.StepSGD(params, nil, tensor.SGD{LR: 1}), tensor.StepAdamW(params, state, state, tensor.AdamW{LR: 1, Step: 1}),
		} {
			require.ErrorIs(t, err, tensor.ErrDType)
			require.ErrorContains(t, err, "parameter 1 is "+dt.String())
		}
		require.Equal(t, []float64{1}, numbersOf(t, params[0]))
	}
}

// TestAnomalyOfHalves finds what is not finite in every float type, and nothing
// in the others.
func TestAnomalyOfHalves(t *testing.T) { onDevices(t, checkAnomalyOfHalves) }

func checkAnomalyOfHalves(t *testing.T, d *tensor.Device) {
	have := dtypesOn(t, d)
	for _, dt := range have {
		x := ofNumbers(d, dt, []float64{1, 0, 1})
		require.NoError(t, x.DetectAnomaly().Clone().Err(), "%v", dt)
		if dt.IsFloat() {
			x = ofNumbers(d, dt, []float64{1, math.Inf(-1), math.NaN()})
			err := x.DetectAnomaly().Clone().Err()
			require.ErrorIs(t, err, tensor.ErrNotFinite, "%v", dt)
			require.ErrorContains(t, err, "-Inf at [1], the first of 2 among 3 elements")
		}
	}
	if !slices.Contains(have, tensor.Float16) || !slices.Contains(have, tensor.BFloat16) {
		return
	}
	large := ofNumbers(d, tensor.Float32, []float64{1e6}).DetectAnomaly()
	require.ErrorIs(t, large.To(tensor.Float16).Err(), tensor.ErrNotFinite)
	require.NoError(t, large.To(tensor.BFloat16).Err())
}
