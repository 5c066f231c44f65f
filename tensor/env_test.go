package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
)

func testDevice(t *testing.T) *Device {
	t.Helper()
	up, err := hostmem.New(hostmem.Config{Capacity: 1 << 30})
	require.NoError(t, err)
	d, err := NewDevice(NewHostBackend(up, cpu.Table()), memory.Config{})
	require.NoError(t, err)
	return d
}

func testStream(t *testing.T, d *Device) *Stream {
	t.Helper()
	s, err := d.NewStream()
	require.NoError(t, err)
	return s
}

// TestJoinStreamScopeAutocast goes through all pairs of settings of the fields
// that are inherited as they are.
func TestJoinStreamScopeAutocast(t *testing.T) {
	d := testDevice(t)
	s1, s2 := testStream(t, d), testStream(t, d)
	outer, other := NewScope(), NewScope()
	inner := outer.Child()
	innermost := inner.Child()
	x := Ones(d, Float32, 2)

	streams := []*Stream{nil, s1, s2}
	for _, a := range streams {
		for _, b := range streams {
			j, err := join(x.On(a), x.On(b))
			require.NoError(t, err)
			want := a
			if want == nil {
				want = b
			}
			require.Equal(t, want, j.env.get().stream, "%v + %v", a, b)
			runsOn := want
			if runsOn == nil {
				runsOn = d.stream
			}
			require.Same(t, runsOn, j.stream)
		}
	}
	for _, c := range []struct{ a, b, want *Scope }{
		{nil, nil, nil}, {nil, outer, outer}, {outer, nil, outer}, {outer, outer, outer},
		{outer, inner, inner}, {inner, outer, inner}, {outer, innermost, innermost}, {innermost, outer, innermost},
		{inner, innermost, innermost},
	} {
		j, err := join(x.In(c.a), x.In(c.b))
		require.NoError(t, err)
		require.Same(t, c.want, j.env.get().scope, "%v + %v", c.a, c.b)
	}
	for _, pair := range [][2]*Scope{{outer, other}, {other, inner}, {inner, outer.Child()}} {
		_, err := join(x.In(pair[0]), x.In(pair[1]))
		require.ErrorIs(t, err, ErrScope)
		require.ErrorContains(t, err, pair[0].String())
		require.ErrorContains(t, err, pair[1].String())
		require.ErrorContains(t, err, "env_test.go")
	}
	casts := []DType{0, Float32, Float64}
	for _, a := range casts {
		for _, b := range casts {
			j, err := join(x.Autocast(a), x.Autocast(b))
			require.NoError(t, err)
			want := a
			if want == 0 {
				want = b
			}
			require.Equal(t, want, j.env.get().autocast)
		}
	}
}

// TestJoinGrad goes through all pairs of what an operand can be to autograd.
func TestJoinGrad(t *testing.T) {
	d := testDevice(t)
	plain := Ones(d, Float32, 2)
	leaf := Ones(d, Float32, 2).RequireGrad()
	history := leaf.MulScalar(2)
	kinds := map[string]*Tensor{
		"plain": plain, "leaf": leaf, "history": history,
		"plain NoGrad": plain.NoGrad(), "leaf NoGrad": leaf.NoGrad(), "history NoGrad": history.NoGrad(),
	}
	for _, c := range []struct {
		a, b           string
		record, noGrad bool
	}{
		{"plain", "plain", false, false},
		{"plain", "leaf", true, false},
		{"plain", "history", true, false},
		{"leaf", "leaf", true, false},
		{"leaf", "history", true, false},
		{"history", "history", true, false},
		{"plain", "plain NoGrad", false, true},
		{"plain", "leaf NoGrad", false, true},
		{"plain", "history NoGrad", false, true},
		// A parameter with a NoGrad input is inference, not training.
		{"leaf", "plain NoGrad", false, true},
		{"leaf", "leaf NoGrad", false, true},
		{"leaf", "history NoGrad", false, true},
		// What has history is trained, and the other side is a constant.
		{"history", "plain NoGrad", true, false},
		{"history", "leaf NoGrad", true, false},
		{"history", "history NoGrad", true, false},
		{"plain NoGrad", "plain NoGrad", false, true},
		{"plain NoGrad", "leaf NoGrad", false, true},
		{"plain NoGrad", "history NoGrad", false, true},
		{"leaf NoGrad", "leaf NoGrad", false, true},
		{"leaf NoGrad", "history NoGrad", false, true},
		{"history NoGrad", "history NoGrad", false, true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			j, err := join(kinds[pair[0]], kinds[pair[1]])
			require.NoError(t, err)
			require.Equal(t, c.record, j.record, "%v", pair)
			require.Equal(t, c.noGrad, j.env.get().noGrad, "%v", pair)
			y := kinds[pair[0]].Add(kinds[pair[1]])
			require.Equal(t, c.record, y.RequiresGrad(), "%v", pair)
		}
	}
}

// TestPlaceOfATensor: what is made at it is where its results are, and as they are.
func TestPlaceOfATensor(t *testing.T) {
	d := testDevice(t)
	s, scope := testStream(t, d), NewScope()
	w, table := Ones(d, Float32, 2).RequireGrad(), Ones(d, Float32, 2, 1).RequireGrad()
	for _, x := range []*Tensor{w, w.On(s), w.In(scope), w.NoGrad(), w.On(s).In(scope).NoGrad()} {
		y := Zeros(x.Place(), Int64, 3)
		require.Same(t, d, y.Device())
		require.Equal(t, x.env.get(), y.env.get())
		require.Equal(t, x.Scope(), y.Scope())
		rows := Embedding(table, y)
		require.Equal(t, x.RequiresGrad(), rows.RequiresGrad(), "%+v", x)
	}
	require.NoError(t, scope.Close())
	require.ErrorIs(t, Zeros(w.In(scope).Place(), Float32, 1).Err(), ErrReleased)
}

// TestTeacherAndStudent is the case that the grad rule is made for.
func TestTeacherAndStudent(t *testing.T) {
	d := testDevice(t)
	w := FromSlice(d, []float64{2}).RequireGrad()
	teacher := FromSlice(d, []float64{5}).RequireGrad()
	x := FromSlice(d, []float64{3})
	diff := x.Mul(w).Sub(x.NoGrad().Mul(teacher))
	require.NoError(t, diff.Mul(diff).Sum().Backward())
	g, err := Data[float64](w.Grad())
	require.NoError(t, err)
	require.Equal(t, []float64{2 * (3*2 - 3*5) * 3}, g)
	require.Nil(t, teacher.Grad())
}

func TestJoinDevice(t *testing.T) {
	d1, d2 := testDevice(t), testDevice(t)
	a, b := Ones(d1, Float32, 2), Ones(d2, Float32, 2)
	require.ErrorIs(t, a.Add(b).Err(), ErrDevice)

	constant := Scalar(CPU(), Float32, 3)
	for _, y := range []*Tensor{a.Add(constant), constant.Add(a)} {
		require.NoError(t, y.Err())
		require.Same(t, d1, y.Device())
		got, err := Data[float32](y)
		require.NoError(t, err)
		require.Equal(t, []float32{4, 4}, got)
	}
	notConstant := Ones(CPU(), Float32, 1)
	require.ErrorIs(t, a.Add(notConstant).Err(), ErrDevice)
	require.ErrorIs(t, a.On(testStream(t, d2)).Err(), ErrDevice)
	require.NoError(t, a.AddInPlace(constant))
}

func TestJoinError(t *testing.T) {
	d := testDevice(t)
	x := Ones(d, Float32, 2, 3)
	first := x.MatMul(x)
	second := x.Add(Ones(d, Float32, 5))
	require.Error(t, first.Err())
	require.Error(t, second.Err())
	require.Same(t, first.Err(), first.Add(second).Err(), "the first in argument order, not rewritten")
	require.Same(t, second.Err(), second.Add(first).Err())
	require.Same(t, first.Err(), x.Add(first).Exp().Sum().Err())
}

// TestEnvIsShared: results on inherited state share their operand's env.
func TestEnvIsShared(t *testing.T) {
	d := testDevice(t)
	s := NewScope()
	x := Ones(d.In(s), Float32, 2)
	w := Ones(d, Float32, 2)
	require.Same(t, s.env, x.env)
	require.Same(t, s.env, x.Add(w).env)
	require.Same(t, s.env, w.Add(x).env)
	require.Same(t, s.env, w.In(s).env, "the scope's own env is found")
	require.Nil(t, w.Add(w).env)
}
