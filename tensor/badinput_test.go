package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/tensor"
)

// TestBadInput gives each kind of bad input: the error is typed, names op and
// shapes, and nothing is left allocated.
func TestBadInput(t *testing.T) {
	type T = *tensor.Tensor
	const f32, f64, i64 = tensor.Float32, tensor.Float64, tensor.Int64
	for _, c := range []struct {
		name string
		f    func(d *tensor.Device, x, v, n T) T // x float32 [2,3], v float32 [4], n int64 [2]
		is   error
		says []string
	}{
		{"negative dim", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 2, -1) }, tensor.ErrShape, []string{"dim 1 is negative", "[2, -1]"}},
		{"overflow", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 1<<32, 1<<32) }, tensor.ErrShape, []string{"overflow"}},
		{"overflow behind 0", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 0, 1<<32, 1<<32) }, tensor.ErrShape, []string{"overflow"}},
		{"overflow in bytes", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f64, math.MaxInt64/4) }, tensor.ErrShape, []string{"overflow"}},
		{"rank", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 1, 1, 1, 1, 1, 1, 1, 1, 1) }, tensor.ErrShape, []string{"9 dims"}},
		{"dtype", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, 99, 1) }, tensor.ErrDType, []string{"DType(99)"}},
		{"slice too short", func(d *tensor.Device, _, _, _ T) T { return tensor.FromSlice(d, []float32{1}, 2, 3) }, tensor.ErrShape, []string{"1 elements", "[2, 3]"}},
		{"broadcast", func(_ *tensor.Device, x, v, _ T) T { return x.Add(v) }, tensor.ErrShape, []string{"Add", "[2, 3]", "[4]"}},
		{"difference of bools", func(_ *tensor.Device, _, _, n T) T { return n.Not().Sub(n.Not()) }, tensor.ErrDType, []string{"Sub", "bool"}},
		{"bits of floats", func(_ *tensor.Device, x, _, n T) T { return x.And(n) }, tensor.ErrDType, []string{"And", "float32"}},
		{"mask of numbers", func(_ *tensor.Device, x, _, n T) T { return tensor.Where(n, x, x) }, tensor.ErrDType, []string{"Where", "int64, not bool"}},
		{"fill beyond the type", func(_ *tensor.Device, _, _, n T) T { return n.To(tensor.Uint8).MaskedFill(n.Not(), 256) }, tensor.ErrValue, []string{"256 as uint8"}},
		{"half of an integer", func(_ *tensor.Device, _, _, n T) T { return n.MulScalar(0.5) }, tensor.ErrDType, []string{"int64", "whole"}},
		{"abs of bool", func(_ *tensor.Device, _, _, n T) T { return n.Not().Abs() }, tensor.ErrDType, []string{"Abs", "bool"}},
		{"NaN as a bound", func(_ *tensor.Device, x, _, _ T) T { return x.Clamp(math.NaN(), 1) }, tensor.ErrValue, []string{"Clamp", "NaN"}},
		{"inner dims", func(_ *tensor.Device, x, _, _ T) T { return x.MatMul(x) }, tensor.ErrShape, []string{"MatMul [2, 3], [2, 3]", "3 and 2"}},
		{"product with a vector", func(_ *tensor.Device, x, v, _ T) T { return x.MatMul(v) }, tensor.ErrShape, []string{"MatMul [2, 3], [4]", "3 and 4"}},
		{"product with a scalar", func(_ *tensor.Device, x, _, _ T) T { return x.MatMul(x.Sum()) }, tensor.ErrShape, []string{"MatMul [2, 3], []", "no dims"}},
		{"products that do not broadcast", func(_ *tensor.Device, x, _, _ T) T { return x.Expand(2, 2, 3).MatMul(x.T().Expand(3, 3, 2)) }, tensor.ErrShape, []string{"MatMul [2, 2, 3], [3, 3, 2]", "[2] and [3]"}},
		{"product of mixed dtypes", func(_ *tensor.Device, x, _, _ T) T { return x.MatMul(x.T().To(f64)) }, tensor.ErrDType, []string{"MatMul", "float32 and float64"}},
		{"product of ints", func(_ *tensor.Device, _, _, n T) T { return n.MatMul(n) }, tensor.ErrDType, []string{"MatMul", "int64"}},
		{"dot of matrices", func(_ *tensor.Device, x, _, _ T) T { return x.Dot(x) }, tensor.ErrShape, []string{"Dot [2, 3], [2, 3]", "1 dim"}},
		{"dot of other lengths", func(_ *tensor.Device, _, v, _ T) T { return v.Dot(v.Slice(0, 1, 4, 1)) }, tensor.ErrShape, []string{"Dot [4], [3]", "4 and 3"}},
		{"outer of a matrix", func(_ *tensor.Device, x, v, _ T) T { return v.Outer(x) }, tensor.ErrShape, []string{"Outer [4], [2, 3]", "1 dim"}},
		{"weight of a batch", func(_ *tensor.Device, x, v, _ T) T { return x.Linear(x.T().Unsqueeze(0), v) }, tensor.ErrShape, []string{"Linear", "weight has 3 dims"}},
		{"bias", func(_ *tensor.Device, x, v, _ T) T { return x.Linear(x.T(), v) }, tensor.ErrShape, []string{"Linear", "4 elements for 2"}},
		{"sum dim", func(_ *tensor.Device, x, _, _ T) T { return x.Sum(2) }, tensor.ErrShape, []string{"Sum", "dim 2"}},
		{"sum dim twice", func(_ *tensor.Device, x, _, _ T) T { return x.Sum(1, -1) }, tensor.ErrShape, []string{"twice"}},
		{"mean of int", func(_ *tensor.Device, _, _, n T) T { return n.Mean() }, tensor.ErrDType, []string{"Mean", "int64"}},
		{"var of int", func(_ *tensor.Device, _, _, n T) T { return n.Var(1) }, tensor.ErrDType, []string{"Var", "int64"}},
		{"var dim", func(_ *tensor.Device, x, _, _ T) T { return x.Std(1, 0, 2) }, tensor.ErrShape, []string{"Std", "dim 2"}},
		{"argmin dim", func(_ *tensor.Device, x, _, _ T) T { return x.ArgMin(-3) }, tensor.ErrShape, []string{"ArgMin", "dim -3"}},
		{"max of bool", func(_ *tensor.Device, x, _, _ T) T { return x.Any(0).Max() }, tensor.ErrDType, []string{"Max", "bool"}},
		{"norm of nothing", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 0).Norm(-1) }, tensor.ErrShape, []string{"Norm", "-1-norm"}},
		{"min of nothing", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 0, 3).Min(0) }, tensor.ErrShape, []string{"Min"}},
		{"topk", func(_ *tensor.Device, x, _, _ T) T { _, i := x.TopK(4, 1, true); return i }, tensor.ErrShape, []string{"TopK", "first 4", "dim of 3"}},
		{"sort dim", func(_ *tensor.Device, x, _, _ T) T { v, _ := x.Sort(2, true); return v }, tensor.ErrShape, []string{"Sort", "dim 2"}},
		{"cumsum dim", func(_ *tensor.Device, x, _, _ T) T { return x.CumSum(-3) }, tensor.ErrShape, []string{"CumSum", "dim -3"}},
		{"max of no row", func(d *tensor.Device, _, _, _ T) T { v, _ := tensor.Zeros(d, f32, 0, 3).MaxWithIndices(0); return v }, tensor.ErrShape, []string{"MaxWithIndices"}},
		{"max of nothing", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 0, 3).Max(0) }, tensor.ErrShape, []string{"Max"}},
		{"argmax of nothing", func(d *tensor.Device, _, _, _ T) T { return tensor.Zeros(d, f32, 3, 0).ArgMax(1) }, tensor.ErrShape, []string{"ArgMax"}},
		{"label above", func(d *tensor.Device, x, _, _ T) T { return x.CrossEntropy(tensor.FromSlice(d, []int64{0, 3})) }, tensor.ErrIndex, []string{"row 1", "3"}},
		{"label below", func(d *tensor.Device, x, _, _ T) T { return x.CrossEntropy(tensor.FromSlice(d, []int64{-1, 0})) }, tensor.ErrIndex, []string{"row 0", "-1"}},
		{"labels of float", func(_ *tensor.Device, x, v, _ T) T { return x.CrossEntropy(v) }, tensor.ErrDType, []string{"int64"}},
		{"labels too many", func(d *tensor.Device, x, _, _ T) T { return x.CrossEntropy(tensor.Zeros(d, i64, 3)) }, tensor.ErrShape, []string{"CrossEntropy"}},
		{"reshape", func(_ *tensor.Device, x, _, _ T) T { return x.Reshape(4) }, tensor.ErrShape, []string{"6 elements", "[4]"}},
		{"reshape two unknown", func(_ *tensor.Device, x, _, _ T) T { return x.Reshape(-1, -1) }, tensor.ErrShape, []string{"two dims"}},
		{"reshape unknown", func(_ *tensor.Device, x, _, _ T) T { return x.Reshape(4, -1) }, tensor.ErrShape, []string{"-1"}},
		{"reshape overflow", func(_ *tensor.Device, x, _, _ T) T { return x.Reshape(1<<32, 1<<32) }, tensor.ErrShape, []string{"overflow"}},
		{"expand", func(_ *tensor.Device, x, _, _ T) T { return x.Expand(2, 4) }, tensor.ErrShape, []string{"Expand"}},
		{"expand smaller", func(_ *tensor.Device, x, _, _ T) T { return x.Expand(3) }, tensor.ErrShape, []string{"Expand"}},
		{"expand overflow", func(_ *tensor.Device, _, v, _ T) T { return v.Slice(0, 0, 1, 1).Expand(1<<40, 1<<40) }, tensor.ErrShape, []string{"overflow"}},
		{"transpose", func(_ *tensor.Device, x, _, _ T) T { return x.Transpose(0, 2) }, tensor.ErrShape, []string{"dim 2"}},
		{"T of a vector", func(_ *tensor.Device, _, v, _ T) T { return v.T() }, tensor.ErrShape, []string{"dim -2"}},
		{"slice step", func(_ *tensor.Device, x, _, _ T) T { return x.Slice(0, 0, 1, 0) }, tensor.ErrShape, []string{"step 0"}},
		{"squeeze", func(_ *tensor.Device, x, _, _ T) T { return x.Squeeze(0) }, tensor.ErrShape, []string{"size 2"}},
		{"convert", func(_ *tensor.Device, x, _, _ T) T { return x.To(77) }, tensor.ErrDType, []string{"DType(77)"}},
		{"beyond uint8", func(d *tensor.Device, _, _, _ T) T { return tensor.Full(d, tensor.Uint8, 256, 2) }, tensor.ErrValue, []string{"Full [2]", "256 as uint8"}},
		{"NaN in int32", func(d *tensor.Device, _, _, _ T) T { return tensor.Scalar(d, tensor.Int32, math.NaN()) }, tensor.ErrValue, []string{"NaN as int32"}},
		{"grad of bool", func(d *tensor.Device, _, _, _ T) T { return tensor.FromSlice(d, []bool{true}).RequireGrad() }, tensor.ErrDType, []string{"bool"}},
		{"grad of int", func(_ *tensor.Device, _, _, n T) T { return n.RequireGrad() }, tensor.ErrDType, []string{"int64"}},
		{"grad of a result", func(_ *tensor.Device, x, _, _ T) T { return x.RequireGrad().Exp().RequireGrad() }, tensor.ErrInPlace, []string{"made by an op"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newCPU(t)
			s := tensor.NewScope()
			x := tensor.Ones(d.In(s), f32, 2, 3)
			v := tensor.Ones(d.In(s), f32, 4)
			n := tensor.Ones(d.In(s), i64, 2)
			y := c.f(d, x, v, n)
			require.ErrorIs(t, y.Err(), c.is)
			var e *tensor.Error
			require.ErrorAs(t, y.Err(), &e)
			require.Contains(t, e.Place, "badinput_test.go")
			for _, s := range c.says {
				require.ErrorContains(t, y.Err(), s)
			}
			require.Same(t, y.Err(), y.Exp().Err(), "handed on unchanged")
			_, err := y.Item()
			require.ErrorIs(t, err, c.is)
			require.ErrorIs(t, y.Backward(), c.is)
			require.NoError(t, y.Release())
			require.NoError(t, s.Close())
		})
	}
}

func TestBadBackward(t *testing.T) { onDevices(t, checkBadBackward) }

func checkBadBackward(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 2)
	w := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	require.ErrorIs(t, x.Sum().Backward(), tensor.ErrNoHistory, "never a silent no-op")
	require.ErrorIs(t, w.NoGrad().Sum().Backward(), tensor.ErrNoHistory)
	require.ErrorIs(t, x.Mul(w).Backward(), tensor.ErrShape)
	loss := x.Mul(w).Sum()
	require.NoError(t, loss.Backward())
	require.ErrorIs(t, loss.Backward(), tensor.ErrGraphFreed)
	y := x.Mul(w)
	require.ErrorIs(t, y.BackwardWith(tensor.Ones(d, tensor.Float32, 3)), tensor.ErrShape)
	require.ErrorIs(t, y.BackwardWith(tensor.Ones(d, tensor.Float64, 2)), tensor.ErrDType)
}

// TestBackwardSeesInPlaceChanges: the values that backward needs are no longer
// what they were.
func TestBackwardSeesInPlaceChanges(t *testing.T) { onDevices(t, checkBackwardSeesInPlaceChanges) }

func checkBackwardSeesInPlaceChanges(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	x := tensor.Ones(d, tensor.Float32, 2)
	loss := x.Mul(w).Sum()
	require.NoError(t, x.Fill(5))
	err := loss.Backward()
	require.ErrorIs(t, err, tensor.ErrInPlace)
	require.ErrorContains(t, err, "Mul backward")

	unread := x.Add(w).Sum()
	require.NoError(t, x.Fill(6))
	require.NoError(t, unread.Backward(), "Add reads no values")
}

func TestInPlaceRefusals(t *testing.T) { onDevices(t, checkInPlaceRefusals) }

func checkInPlaceRefusals(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	x := tensor.Ones(d, tensor.Float32, 2, 2)
	require.ErrorIs(t, w.Fill(1), tensor.ErrInPlace)
	require.ErrorIs(t, tensor.CopyFrom(w, []float32{1, 2}), tensor.ErrInPlace)
	require.ErrorIs(t, w.Exp().AddInPlace(w.NoGrad()), tensor.ErrInPlace, "it has history")
	require.ErrorIs(t, x.AddInPlace(w), tensor.ErrInPlace, "w's history would be lost")
	require.NoError(t, x.AddInPlace(w.NoGrad()))
	require.NoError(t, w.NoGrad().Fill(3))
	require.ErrorIs(t, tensor.Ones(d, tensor.Float32, 1).Expand(4).Fill(1), tensor.ErrInPlace, "elements share memory")
	require.ErrorIs(t, x.AddInPlace(tensor.Ones(d, tensor.Float32, 3)), tensor.ErrShape)
	require.ErrorIs(t, tensor.Ones(d, tensor.Float32, 2).AddInPlace(x), tensor.ErrShape, "it would have to grow")
	require.ErrorIs(t, tensor.Ones(d, tensor.Int64, 2).AddInPlace(x), tensor.ErrDType, "no float goes into an integer")
	require.NoError(t, x.CopyInPlace(tensor.Ones(d, tensor.Int64, 2)), "copying converts")

	y := tensor.FromSlice(d, []float32{1, 2, 3, 4}, 2, 2)
	require.NoError(t, y.AddInPlace(y.T()), "an operand that overlaps is copied first")
	got, err := tensor.Data[float32](y)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 5, 5, 8}, got)
}

func TestStepRefusals(t *testing.T) { onDevices(t, checkStepRefusals) }

func checkStepRefusals(t *testing.T, d *tensor.Device) {
	p := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	q := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	require.NoError(t, p.Sum().Backward())
	params := []*tensor.Tensor{p, q}
	err := tensor.StepSGD(params, nil, tensor.SGD{LR: 1})
	require.ErrorContains(t, err, "parameter 1: no gradient")
	require.NoError(t, q.Sum().Backward())
	require.ErrorIs(t, tensor.StepSGD(params, params[:1], tensor.SGD{LR: 1, Momentum: 0.9}), tensor.ErrShape)
	wrong := []*tensor.Tensor{tensor.Zeros(d, tensor.Float32, 2), tensor.Zeros(d, tensor.Float32, 3)}
	require.ErrorIs(t, tensor.StepAdamW(params, wrong, wrong, tensor.AdamW{LR: 1, Step: 1}), tensor.ErrShape)
	require.ErrorIs(t, tensor.StepSGD([]*tensor.Tensor{p, q, p}, nil, tensor.SGD{LR: 1}), tensor.ErrInPlace, "a parameter twice")
	shared := []*tensor.Tensor{tensor.Zeros(d, tensor.Float32, 2), nil}
	shared[1] = shared[0].Detach()
	require.ErrorIs(t, tensor.StepSGD(params, shared, tensor.SGD{LR: 1, Momentum: 0.9}), tensor.ErrInPlace, "one buffer for two")
	got, err := tensor.Data[float32](p)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1}, got, "no parameter was changed")
}

func TestOutOfMemoryIsTyped(t *testing.T) {
	d := newDevice(t, func(c *memory.Config) { c.Limit = 32 << 20 })
	x := tensor.Zeros(d, tensor.Float32, 64<<20)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, x.Err(), &oom)
	require.Equal(t, tensor.Shape{64 << 20}, x.Shape(), "the shape that it would have had")
	require.NoError(t, tensor.Zeros(d, tensor.Float32, 1<<20).Err(), "the device goes on")
}
