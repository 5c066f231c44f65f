package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// gradCase is a function whose gradients are checked against finite
// differences in float64.
type gradCase struct {
	name   string
	shapes [][]int // of the inputs
	f      func(in []*tensor.Tensor) *tensor.Tensor
	draw   func(r *rand.Rand) float64 // nil: normal
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

func positive(r *rand.Rand) float64 { return 0.5 + r.Float64() }

// awayFrom0 keeps clear of the kink of ReLU, where a finite difference is not
// the gradient.
func awayFrom0(r *rand.Rand) float64 {
	v := r.NormFloat64()
	return v + math.Copysign(0.1, v)
}

func gradCases() []gradCase {
	one := func(f func(T) T) func([]T) T { return func(in []T) T { return f(in[0]) } }
	two := func(f func(a, b T) T) func([]T) T { return func(in []T) T { return f(in[0], in[1]) } }
	cases := []gradCase{
		{name: "Exp", shapes: [][]int{{3, 5}}, f: one(T.Exp)},
		{name: "Log", shapes: [][]int{{3, 5}}, f: one(T.Log), draw: positive},
		{name: "Sqrt", shapes: [][]int{{3, 5}}, f: one(T.Sqrt), draw: positive},
		{name: "ReLU", shapes: [][]int{{3, 5}}, f: one(T.ReLU), draw: awayFrom0},
		{name: "Neg", shapes: [][]int{{4}}, f: one(T.Neg)},
		{name: "Abs", shapes: [][]int{{3, 5}}, f: one(T.Abs), draw: awayFrom0},
		{name: "Expm1", shapes: [][]int{{3, 5}}, f: one(T.Expm1)},
		{name: "Log1p", shapes: [][]int{{3, 5}}, f: one(T.Log1p), draw: positive},
		{name: "Rsqrt", shapes: [][]int{{3, 5}}, f: one(T.Rsqrt), draw: positive},
		{name: "Reciprocal", shapes: [][]int{{3, 5}}, f: one(T.Reciprocal), draw: positive},
		{name: "Sin", shapes: [][]int{{3, 5}}, f: one(T.Sin)},
		{name: "Cos", shapes: [][]int{{3, 5}}, f: one(T.Cos)},
		{name: "Erf", shapes: [][]int{{3, 5}}, f: one(T.Erf)},
		{name: "PowScalar", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.PowScalar(2.5) }), draw: positive},
		{name: "PowScalar 0", shapes: [][]int{{3}}, f: one(func(a T) T { return a.PowScalar(0) })},
		{name: "Tanh", shapes: [][]int{{3, 5}}, f: one(T.Tanh)},
		{name: "Sigmoid", shapes: [][]int{{3, 5}}, f: one(T.Sigmoid)},
		{name: "SiLU", shapes: [][]int{{3, 5}}, f: one(T.SiLU)},
		{name: "GELU", shapes: [][]int{{3, 5}}, f: one(T.GELU)},
		{name: "GELUTanh", shapes: [][]int{{3, 5}}, f: one(T.GELUTanh)},
		{name: "LeakyReLU", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.LeakyReLU(0.1) }), draw: awayFrom0},
		{name: "ELU", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.ELU(1.5) }), draw: awayFrom0},
		{name: "Softplus", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.Softplus(1.5, 20) })},
		{name: "Clamp", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.Clamp(0, 3) }), draw: awayFrom0},
		{name: "Round", shapes: [][]int{{3, 5}}, f: one(T.Round), draw: func(r *rand.Rand) float64 { return 1.2 + 0.1*r.Float64() }},
		{name: "Where", shapes: [][]int{{3, 5}, {5}}, f: two(func(a, b T) T { return tensor.Where(a.Gt(b), a, b) })},
		{name: "MaskedFill", shapes: [][]int{{3, 5}}, f: one(func(a T) T { return a.MaskedFill(a.Lt(tensor.Scalar(a.Device(), tensor.Float64, 0)), 7).Mul(a) })},
		{name: "Maximum of equals", shapes: [][]int{{3}}, f: one(func(a T) T { return a.Maximum(a).Mul(a) })},
		{name: "mixed types", shapes: [][]int{{3}}, f: one(func(a T) T { return a.Mul(tensor.FromSlice(a.Device(), []int32{2, 3, 4})) })},
		{name: "MulScalar", shapes: [][]int{{4}}, f: one(func(a T) T { return a.MulScalar(-1.5) })},
		{name: "AddScalar", shapes: [][]int{{4}}, f: one(func(a T) T { return a.AddScalar(2) })},
		{name: "Sum all", shapes: [][]int{{3, 1, 5}}, f: one(func(a T) T { return a.Sum() })},
		{name: "Sum 0", shapes: [][]int{{3, 1, 5}}, f: one(func(a T) T { return a.Sum(0) })},
		{name: "Sum 1,-1", shapes: [][]int{{3, 1, 5}}, f: one(func(a T) T { return a.Sum(1, -1) })},
		{name: "Sum of dim 1", shapes: [][]int{{3, 1, 5}}, f: one(func(a T) T { return a.Sum(1) })},
		{name: "Sum equal dims", shapes: [][]int{{3, 3, 3}}, f: one(func(a T) T { return a.Sum(1) })},
		{name: "SumKeep", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.SumKeep(1) })},
		{name: "Mean", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Mean(0, 2) })},
		{name: "Max", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Max(1) })},
		{name: "Max all", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Max() })},
		{name: "Prod", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Prod(0, 2) })},
		{name: "Prod all", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.ProdKeep() })},
		{name: "CumSum", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.CumSum(1) })},
		{name: "CumProd", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.CumProd(-1) })},
		{name: "CumSum of a scalar", shapes: [][]int{{}}, f: one(func(a T) T { return a.CumSum(0) })},
		{name: "Sort", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { v, _ := a.Sort(1, true); return v })},
		{name: "TopK", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { v, _ := a.TopK(2, 1, false); return v })},
		{name: "MaxWithIndices", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { v, _ := a.MaxWithIndices(1); return v })},
		{name: "MinWithIndices", shapes: [][]int{{3, 3, 3}}, f: one(func(a T) T { v, _ := a.MinWithIndices(0); return v })},
		{name: "Min", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Min(0, -1) })},
		{name: "MaxKeep", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.MaxKeep(1) })},
		{name: "Var all", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Var(1) })},
		{name: "Var 0,2", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Var(0, 0, 2) })},
		{name: "VarKeep", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.VarKeep(1, 1) })},
		{name: "Std", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Std(1, 1) })},
		{name: "LogSumExp", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.LogSumExp(0, 2) })},
		{name: "LogSumExpKeep", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.LogSumExpKeep(1) })},
		{name: "Norm 2", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Norm(2, 1) })},
		{name: "Norm 2 all", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.NormKeep(2) })},
		{name: "Norm 1", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Norm(1, 0, 2) }), draw: awayFrom0},
		{name: "Norm 3", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Norm(3, 1) }), draw: awayFrom0},
		{name: "Norm -1.5", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.NormKeep(-1.5, 0) }), draw: awayFrom0},
		{name: "Norm Inf", shapes: [][]int{{3, 4, 5}}, f: one(func(a T) T { return a.Norm(math.Inf(1), 1) })},
		{name: "Norm -Inf", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Norm(math.Inf(-1)) }), draw: awayFrom0},
		{name: "MatMul", shapes: [][]int{{3, 4}, {4, 5}}, f: two(T.MatMul)},
		{name: "MatMul T", shapes: [][]int{{4, 3}, {5, 4}}, f: two(func(a, b T) T { return a.T().MatMul(b.T()) })},
		{name: "MatMul same", shapes: [][]int{{3, 3}}, f: one(func(a T) T { return a.MatMul(a) })},
		{name: "Linear", shapes: [][]int{{3, 4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].Linear(in[1], in[2]) }},
		{name: "LinearReLU", shapes: [][]int{{3, 4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].LinearReLU(in[1], in[2]) }},
		{name: "Transpose", shapes: [][]int{{2, 3, 4}}, f: one(func(a T) T { return a.Transpose(0, 2) })},
		{name: "Expand", shapes: [][]int{{3, 1}}, f: one(func(a T) T { return a.Expand(2, 3, 4) })},
		{name: "Slice", shapes: [][]int{{3, 7}}, f: one(func(a T) T { return a.Slice(1, 1, 6, 2) })},
		{name: "Slice to nothing", shapes: [][]int{{3, 7}}, f: one(func(a T) T { return a.Slice(1, 5, 2, 1) })},
		{name: "Reshape", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Reshape(2, -1) })},
		{name: "Reshape of a transpose", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.T().Reshape(6, 2) })},
		{name: "Unsqueeze", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Unsqueeze(1) })},
		{name: "Squeeze", shapes: [][]int{{3, 1, 4}}, f: one(func(a T) T { return a.Squeeze(1) })},
		{name: "Clone", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.T().Clone() })},
		{name: "Contiguous", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.T().Contiguous() })},
		{name: "To and back", shapes: [][]int{{3}}, f: one(func(a T) T { return a.To(tensor.Float64) })},
		{name: "used twice", shapes: [][]int{{3, 4}, {3, 4}}, f: two(func(a, b T) T { return a.Mul(b).Add(a).Mul(a.Add(b)) })},
		{name: "diamond", shapes: [][]int{{3}}, f: one(func(a T) T { b := a.Exp(); return b.Add(b.Mul(b)).Add(b) })},
		{name: "square", shapes: [][]int{{4}}, f: one(func(a T) T { return a.Mul(a) })},
	}
	cases = append(cases, normCases()...)
	cases = append(cases, lossCases()...)
	cases = append(cases, matMulCases()...)
	cases = append(cases, einsumCases()...)
	for _, classes := range [][]int64{{0, 3, 1}, {2, 2, 2}} {
		cases = append(cases, gradCase{name: fmt.Sprint("CrossEntropy ", classes), shapes: [][]int{{3, 4}},
			f: one(func(a T) T { return a.CrossEntropy(tensor.FromSlice(a.Device(), classes)) })})
	}
	for _, o := range []tensor.AttentionOptions{{}, {Causal: true}, {Scale: 2, Causal: true}} {
		for _, s := range [][3][]int{{{2, 3, 4}, {2, 3, 4}, {2, 3, 5}}, {{1, 4, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 3}}, {{4, 3}, {2, 3}, {2, 1}}} {
			cases = append(cases, gradCase{name: fmt.Sprint("Attention", s, o.Causal, o.Scale), shapes: s[:],
				f: func(in []T) T { return in[0].Attention(in[1], in[2], o) }})
		}
	}
	cases = append(cases, gradCase{name: "Attention masked, of transposed heads", shapes: [][]int{{3, 2, 4}, {5, 2, 4}, {5, 2, 3}},
		f: func(in []T) T {
			m := tensor.FromSlice(in[0].Device(), []float64{0, 1, -1, math.Inf(-1), 2, math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1),
				math.Inf(-1), 0, 0, math.Inf(-1), 0, 3}, 3, 5)
			return in[0].Transpose(0, 1).Attention(in[1].Transpose(0, 1), in[2].Transpose(0, 1), tensor.AttentionOptions{Mask: m})
		}})
	for _, s := range [][2][]int{{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{2}, {2, 2, 2}}, {{5, 1}, {1, 4}}, {{}, {3}}, {{3}, {}},
		{{2, 1, 3}, {1, 4, 1}}, {{1, 1}, {1}}, {{0, 3}, {1, 3}}} {
		for _, op := range []struct {
			name string
			f    func(a, b T) T
			draw func(*rand.Rand) float64
		}{{"Add", T.Add, nil}, {"Sub", T.Sub, nil}, {"Mul", T.Mul, nil}, {"Div", T.Div, positive}, {"Pow", T.Pow, positive},
			{"Maximum", T.Maximum, nil}, {"Minimum", T.Minimum, nil}, {"Remainder", T.Remainder, positive}} {
			cases = append(cases, gradCase{name: fmt.Sprint(op.name, s), shapes: s[:], f: two(op.f), draw: op.draw})
		}
	}
	return cases
}

// TestGradients compares each gradient with central differences, under an
// upstream that differs at every element.
func TestGradients(t *testing.T) { onDevices(t, checkGradients) }

func checkGradients(t *testing.T, d *tensor.Device) { checkGradientsOf(t, d, gradCases()) }

func checkGradientsOf(t *testing.T, d *tensor.Device, cases []gradCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 11))
			draw := c.draw
			if draw == nil {
				draw = (*rand.Rand).NormFloat64
			}
			data := make([][]float64, len(c.shapes))
			leaves := make([]*tensor.Tensor, len(c.shapes))
			for i, s := range c.shapes {
				data[i] = make([]float64, tensor.Shape(s).Len())
				for j := range data[i] {
					data[i][j] = draw(r)
				}
				leaves[i] = tensor.FromSlice(d, data[i], s...).RequireGrad()
			}
			y := c.f(leaves)
			require.NoError(t, y.Err())
			up := make([]float64, y.Len())
			for i := range up {
				up[i] = r.NormFloat64()
			}
			require.NoError(t, y.BackwardWith(tensor.FromSlice(d, up, y.Shape()...)))

			value := func() float64 {
				in := make([]*tensor.Tensor, len(data))
				for i := range data {
					in[i] = tensor.FromSlice(d, data[i], c.shapes[i]...)
				}
				out, err := tensor.Data[float64](c.f(in))
				require.NoError(t, err)
				sum := 0.0
				for i, v := range out {
					sum += v * up[i]
				}
				return sum
			}
			for i := range data {
				grad, err := tensor.Data[float64](leaves[i].Grad())
				require.NoError(t, err)
				require.Equal(t, leaves[i].Shape(), leaves[i].Grad().Shape())
				for j := range data[i] {
					const h = 1e-5
					was := data[i][j]
					data[i][j] = was + h
					above := value()
					data[i][j] = was - h
					below := value()
					data[i][j] = was
					want := (above - below) / (2 * h)
					require.InDelta(t, want, grad[j], 1e-6*max(1, math.Abs(want)), "input %d element %d", i, j)
				}
			}
		})
	}
}

func TestGradientsAddUpOverBackwards(t *testing.T) {
	onDevices(t, checkGradientsAddUp)
}

func checkGradientsAddUp(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, []float64{2, 3}).RequireGrad()
	for i := 1; i <= 3; i++ {
		require.NoError(t, x.Mul(x).Sum().Backward())
		got, err := tensor.Data[float64](x.Grad())
		require.NoError(t, err)
		require.Equal(t, []float64{4 * float64(i), 6 * float64(i)}, got)
	}
	require.NoError(t, x.ZeroGrad())
	require.Nil(t, x.Grad())
}

// TestGradientsOfNoElementsAddUp: a sum over no elements hands back its upstream,
// expanded, and the leaf may have that for its gradient. It can be added to.
func TestGradientsOfNoElementsAddUp(t *testing.T) { onDevices(t, checkEmptyGradients) }

func checkEmptyGradients(t *testing.T, d *tensor.Device) {
	x := tensor.Zeros(d, tensor.Float64, 0, 2, 7).RequireGrad()
	for range 2 {
		y := x.Sum(0, 2).Exp()
		require.NoError(t, y.BackwardWith(tensor.Ones(d, tensor.Float64, 2)))
	}
	require.NoError(t, x.Grad().AddInPlace(x.Detach()))
	require.Equal(t, x.Shape(), x.Grad().Shape())
}

// TestGradientOfASharedUpstream has one gradient reach two leaves as views of
// the same bytes: each leaf must own what it gets.
func TestGradientOfASharedUpstream(t *testing.T) { onDevices(t, checkSharedUpstream) }

func checkSharedUpstream(t *testing.T, d *tensor.Device) {
	a := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	b := tensor.FromSlice(d, []float64{3, 4}).RequireGrad()
	y := a.Add(b)
	up := tensor.FromSlice(d, []float64{5, 6})
	require.NoError(t, y.BackwardWith(up))
	require.NoError(t, a.Grad().AddInPlace(tensor.Ones(d, tensor.Float64, 2)))
	got, err := tensor.Data[float64](b.Grad())
	require.NoError(t, err)
	require.Equal(t, []float64{5, 6}, got)
	kept, err := tensor.Data[float64](up)
	require.NoError(t, err)
	require.Equal(t, []float64{5, 6}, kept, "the caller's upstream is untouched")
}
