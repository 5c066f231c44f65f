package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// lossOf is a loss of single elements, its options bound.
type lossOf func(x, target *tensor.Tensor, r tensor.Reduction) *tensor.Tensor

func huber(delta float64) lossOf {
	return func(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor { return x.HuberLoss(t, delta, r) }
}

func smoothL1(beta float64) lossOf {
	return func(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor { return x.SmoothL1Loss(t, beta, r) }
}

func klDiv(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.KLDiv(t, tensor.KLDivOptions{Reduction: r})
}

func klDivLog(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.KLDiv(t, tensor.KLDivOptions{LogTarget: true, Reduction: r})
}

func bceLogits(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.BCEWithLogits(t, tensor.BCEOptions{Reduction: r})
}

func bce(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor { return x.BCELoss(t, nil, r) }

// lossWeight and positiveWeight broadcast to [2,3] in different ways.
func lossWeight(x *tensor.Tensor) *tensor.Tensor {
	return tensor.FromSlice(x.Device(), []float64{0.5, 2, 1}).To(x.DType())
}

func positiveWeight(x *tensor.Tensor) *tensor.Tensor {
	return tensor.FromSlice(x.Device(), []float64{2, 0.5}, 2, 1).To(x.DType())
}

func weightedLogits(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.BCEWithLogits(t, tensor.BCEOptions{Weight: lossWeight(x), PosWeight: positiveWeight(x), Reduction: r})
}

func positiveLogits(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.BCEWithLogits(t, tensor.BCEOptions{PosWeight: positiveWeight(x), Reduction: r})
}

func weightedBCE(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	return x.BCELoss(t, lossWeight(x), r)
}

// between draws probabilities clear of 0 and 1.
func between(r *rand.Rand) float64 { return 0.1 + 0.8*r.Float64() }

// lossTable has every loss, PyTorch 2.15's values of it for lossInputs, and its
// peak beside operands and loss, in buffers of the operands' size: of a forward
// and a backward to the input alone, and to the target too.
var lossTable = []struct {
	name  string
	f     lossOf
	draw  func(*rand.Rand) float64
	x     []float64 // nil: that of lossInputs
	torch []float64
	peak  [2]int
}{
	{"MSELoss", (*tensor.Tensor).MSELoss, nil, nil, []float64{2.56, 0.0025, 1.69, 0.0625, 1.5625, 0.5625}, [2]int{1, 2}},
	{"L1Loss", (*tensor.Tensor).L1Loss, nil, nil, []float64{1.6, 0.05, 1.3, 0.25, 1.25, 0.75}, [2]int{1, 2}},
	{"HuberLoss", huber(0.6), nil, nil, []float64{0.78, 0.00125, 0.6, 0.03125, 0.57, 0.27}, [2]int{2, 2}},
	{"SmoothL1Loss", smoothL1(0.6), nil, nil, []float64{1.3, 0.00208333333333333, 1, 0.0520833333333333, 0.95, 0.45}, [2]int{2, 2}},
	{"SmoothL1Loss of beta 0", smoothL1(0), nil, nil, []float64{1.6, 0.05, 1.3, 0.25, 1.25, 0.75}, [2]int{1, 2}},
	{"KLDiv", klDiv, between, nil, []float64{-0.08025850929940453, -0.3718875824868201, -1.6496724607571127, -0.47157359027997264,
		0.028426409720027357, -0.5965735902799727}, [2]int{1, 2}},
	{"KLDiv of logarithms", klDivLog, nil, nil, []float64{1.7682734689210364, -0.06107013790800848, -2.6178785197116197,
		-0.32100635417193535, 2.0609015883751605, -0.963019062515806}, [2]int{2, 3}},
	{"BCEWithLogits", weightedLogits, nil, nil, []float64{0.2607773028905138, 1.7822546077092247, 0.8157776187730533,
		0.3949086805787967, 0.9553065091723498, 1.024103976578445}, [2]int{2, 2}},
	{"BCELoss", weightedBCE, between, []float64{0.5, 0.25, 0.125, 0.75, 0.1, 0.9}, []float64{0.34657359027997264, 1.0148090603708058,
		1.4956684969632417, 0.5558206444764315, 2.407945608651872, 1.753278948659991}, [2]int{2, 3}},
}

// lossInputs returns an input and a target [2,3].
func lossInputs(d *tensor.Device, x []float64) (in, target *tensor.Tensor) {
	if x == nil {
		x = []float64{-1.5, 0.25, 2, 0.5, -0.75, 1}
	}
	return tensor.FromSlice(d, x, 2, 3), tensor.FromSlice(d, []float64{0.1, 0.2, 0.7, 0.25, 0.5, 0.25}, 2, 3)
}

// lossCases are the gradients of the losses of single elements, in all
// reductions, and of input and target together and alone.
func lossCases() (cases []gradCase) {
	type T = *tensor.Tensor
	shape := []int{2, 3}
	add := func(name string, f lossOf, draw func(*rand.Rand) float64) {
		cases = append(cases,
			gradCase{name: name + ", mean", shapes: [][]int{shape, shape}, draw: draw,
				f: func(in []T) T { return f(in[0], in[1], tensor.MeanReduction) }},
			gradCase{name: name + ", none, transposed", shapes: [][]int{{3, 2}, {3, 2}}, draw: draw,
				f: func(in []T) T { return f(in[0].T(), in[1].T(), tensor.NoReduction) }},
			gradCase{name: name + ", sum, input alone", shapes: [][]int{shape}, draw: draw, f: func(in []T) T {
				_, target := lossInputs(in[0].Device(), nil)
				return f(in[0], target, tensor.SumReduction)
			}},
			gradCase{name: name + ", mean, target alone", shapes: [][]int{shape}, draw: draw, f: func(in []T) T {
				x, _ := lossInputs(in[0].Device(), []float64{0.5, 0.25, 0.125, 0.75, 0.1, 0.9})
				return f(x, in[0], tensor.MeanReduction)
			}},
			gradCase{name: name + ", none, target alone", shapes: [][]int{shape}, draw: draw, f: func(in []T) T {
				x, _ := lossInputs(in[0].Device(), []float64{0.5, 0.25, 0.125, 0.75, 0.1, 0.9})
				return f(x, in[0], tensor.NoReduction)
			}})
	}
	for _, l := range lossTable {
		add(l.name, l.f, l.draw)
	}
	add("BCEWithLogits, no weights", bceLogits, nil)
	add("BCEWithLogits, PosWeight", positiveLogits, nil)
	add("BCELoss, no weight", bce, between)
	batch := func(x, t T, _ tensor.Reduction) T { return klDiv(x, t, tensor.BatchMeanReduction) }
	add("KLDiv, mean over the batch", batch, between)
	return cases
}

// TestLossesAgainstPyTorch compares each loss and its reductions with PyTorch's,
// in float64, and in float32 and the half types to their precision: of a
// reduced half nothing is lost before its one rounding.
func TestLossesAgainstPyTorch(t *testing.T) { onDevices(t, checkLossValues) }

func checkLossValues(t *testing.T, d *tensor.Device) {
	for _, l := range lossTable {
		t.Run(l.name, func(t *testing.T) {
			sum := 0.0
			for _, v := range l.torch {
				sum += v
			}
			for dt, eps := range map[tensor.DType]float64{tensor.Float64: 1e-14, tensor.Float32: 1e-6, tensor.Float16: 0x1p-9, tensor.BFloat16: 0x1p-6} {
				x, target := lossInputs(d, l.x)
				x, target = x.To(dt).RequireGrad(), target.To(dt).RequireGrad()
				loss := func(r tensor.Reduction) []float64 {
					y := l.f(x, target, r)
					require.Equal(t, dt, y.DType())
					v, err := tensor.Data[float64](y.To(tensor.Float64))
					require.NoError(t, err)
					return v
				}
				require.InDeltaSlice(t, l.torch, loss(tensor.NoReduction), 4*eps, dt)
				require.InDelta(t, sum, loss(tensor.SumReduction)[0], 8*eps, dt)
				require.InDelta(t, sum/6, loss(tensor.MeanReduction)[0], 4*eps, dt)
				require.NoError(t, l.f(x, target, tensor.MeanReduction).Backward())
				require.Equal(t, dt, x.Grad().DType())
				require.Equal(t, dt, target.Grad().DType())
			}
			x, target := lossInputs(d, l.x)
			none := tensor.Zeros(d, tensor.Float64, 0, 3)
			if l.x != nil || l.name == "BCEWithLogits" { // the weights do not broadcast
				none = tensor.Zeros(d, tensor.Float64, 2, 0)
				require.ErrorIs(t, l.f(none, none, tensor.MeanReduction).Err(), tensor.ErrShape)
				return
			}
			empty, err := l.f(none, none, tensor.MeanReduction).Item()
			require.NoError(t, err)
			require.True(t, math.IsNaN(empty), "the mean of nothing")
			empty, err = l.f(none, none, tensor.SumReduction).Item()
			require.NoError(t, err)
			require.Zero(t, empty)
			require.NoError(t, l.f(none.RequireGrad(), none, tensor.MeanReduction).Backward())
			batch := l.f(x, target, tensor.BatchMeanReduction)
			if l.name[0] != 'K' {
				require.ErrorIs(t, batch.Err(), kernels.ErrAttr)
				return
			}
			got, err := batch.Item()
			require.NoError(t, err)
			require.InDelta(t, sum/2, got, 1e-14)
		})
	}
}

// TestHalfLossIsSummedWide: the squares of a half loss, and their sum, are
// beyond a half's range where their mean is not, and less than a half can add.
func TestHalfLossIsSummedWide(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.Full(d, tensor.Float16, 300, 4096).RequireGrad()
		target := tensor.Full(d, tensor.Float16, 299.75, 4096)
		loss, err := x.MSELoss(target, tensor.MeanReduction).Item()
		require.NoError(t, err)
		require.Equal(t, 0.0625, loss)
		half := x.MSELoss(tensor.Zeros(d, tensor.Float16, 4096), tensor.MeanReduction).MulScalar(0)
		v, err := half.Item()
		require.NoError(t, err)
		require.True(t, math.IsNaN(v), "90000 is beyond float16's range")
	})
}

// TestHalfCrossEntropyIsSummedWide: more rows than a float16 counts, and weights
// whose sum is beyond it.
func TestHalfCrossEntropyIsSummedWide(t *testing.T) {
	d := newCPU(t)
	for rows, w := range map[int]float64{70_000: 1, 700: 200} {
		x := tensor.Zeros(d, tensor.Float16, rows, 2).RequireGrad()
		classes := tensor.Zeros(d, tensor.Int64, rows)
		mean := x.CrossEntropyWith(classes, tensor.CrossEntropyOptions{Weight: tensor.Full(d, tensor.Float16, w, 2)})
		require.NoError(t, mean.Backward())
		got, err := mean.Item()
		require.NoError(t, err)
		require.InDelta(t, math.Ln2, got, 0x1p-11)
		g, err := x.Grad().Select(0, rows-1).Select(0, 1).Item()
		require.NoError(t, err)
		require.InEpsilon(t, 0.5/float64(rows), g, 0x1p-6)
	}
}

// TestLossesAtTheirEdges has PyTorch 2.15's values and gradients of infinities,
// NaN, zeros and knees.
func TestLossesAtTheirEdges(t *testing.T) { onDevices(t, checkLossEdges) }

func checkLossEdges(t *testing.T, d *tensor.Device) {
	inf, nan := math.Inf(1), math.NaN()
	zeros := []float64{0, 0, 0, 0, 0, 0}
	knees := []float64{1.5, -1.5, 0, inf, nan, 2}
	three := func(x, t *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
		return x.BCEWithLogits(t, tensor.BCEOptions{PosWeight: tensor.Scalar(x.Device(), tensor.Float64, 3), Reduction: r})
	}
	for _, c := range []struct {
		name                    string
		f                       lossOf
		x, target, loss, dx, dt []float64
	}{
		{"huber", huber(1.5), knees, zeros, []float64{1.125, 1.125, 0, inf, nan, 1.875},
			[]float64{1.5, -1.5, 0, 1.5, nan, 1.5}, []float64{-1.5, 1.5, 0, -1.5, nan, -1.5}},
		{"smooth", smoothL1(1.5), knees, zeros, []float64{0.75, 0.75, 0, inf, nan, 1.25},
			[]float64{1, -1, 0, 1, nan, 1}, []float64{-1, 1, 0, -1, nan, -1}},
		{"smooth, beta 0", smoothL1(0), knees, zeros, []float64{1.5, 1.5, 0, inf, nan, 2},
			[]float64{1, -1, 0, 1, 0, 1}, []float64{-1, 1, 0, -1, 0, -1}},
		{"l1", (*tensor.Tensor).L1Loss, knees, zeros, []float64{1.5, 1.5, 0, inf, nan, 2},
			[]float64{1, -1, 0, 1, 0, 1}, []float64{-1, 1, 0, -1, 0, -1}},
		{"logits", bceLogits, []float64{inf, inf, -inf, -inf, 100, -100, nan}, []float64{1, 0, 1, 0, 1, 0, 1},
			[]float64{nan, inf, nan, nan, 3.720075976020836e-44, 0, nan},
			[]float64{0, 1, -1, 0, 0, 3.7200759760208356e-44, nan}, []float64{-inf, -inf, inf, inf, -100, 100, nan}},
		{"logits, weight 3", three, []float64{inf, inf, -inf, -inf, 100, -100}, []float64{1, 0, 1, 0, 1, 0},
			[]float64{nan, inf, nan, nan, 1.1160227928062509e-43, 0},
			[]float64{0, 1, -3, 0, 0, 3.7200759760208356e-44}, []float64{-inf, -inf, inf, inf, -100, 300}},
		{"probabilities", bce, []float64{0, 0, 1, 1, 0.25}, []float64{0, 1, 0, 1, 0.5}, []float64{0, 100, 100, 0, 0.8369882167858358},
			[]float64{0, -1e12, 1e12, 0, -4. / 3}, []float64{inf, inf, -inf, -inf, 1.0986122886681098}},
		{"divergence", klDiv, []float64{0, -1, -inf, -inf, -1, nan}, []float64{0, 0.5, 0, 0.5, -0.5, 0},
			[]float64{0, 0.15342640972002736, nan, inf, nan, nan}, []float64{0, -0.5, 0, -0.5, 0.5, 0},
			[]float64{-inf, 1.3068528194400546, nan, inf, nan, nan}}, // PyTorch has NaN for -inf
		{"divergence of logarithms", klDivLog, []float64{0, -1, -inf, -1}, []float64{-inf, -0.5, -1, -2},
			[]float64{nan, 0.3032653298563167, inf, -0.1353352832366127}, []float64{0, -0.6065306597126334, -0.36787944117144233, -0.1353352832366127},
			[]float64{nan, 0.9097959895689501, inf, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, target := tensor.FromSlice(d, c.x).RequireGrad(), tensor.FromSlice(d, c.target).RequireGrad()
			y := c.f(x, target, tensor.NoReduction)
			require.NoError(t, y.BackwardWith(tensor.Ones(d, tensor.Float64, len(c.x))))
			for _, got := range []struct {
				what string
				t    *tensor.Tensor
				want []float64
			}{{"loss", y, c.loss}, {"dx", x.Grad(), c.dx}, {"dt", target.Grad(), c.dt}} {
				data, err := tensor.Data[float64](got.t)
				require.NoError(t, err)
				for i, v := range data {
					same := v == got.want[i] || math.IsNaN(v) && math.IsNaN(got.want[i])
					require.True(t, same || math.Abs(v-got.want[i]) <= 1e-14*math.Abs(got.want[i]), "%s %d: %v, want %v", got.what, i, v, got.want[i])
				}
			}
		})
	}
}

// TestLossTypes: input and target are promoted, and each gradient has the type
// of its operand.
func TestLossTypes(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.Ones(d, tensor.Float16, 3).RequireGrad()
		target := tensor.FromSlice(d, []float32{0.5, 3, 1}).RequireGrad()
		y := x.MSELoss(target, tensor.SumReduction)
		require.Equal(t, tensor.Float32, y.DType())
		require.NoError(t, y.Backward())
		near(t, []float64{1, -4, 0}, x.Grad().To(tensor.Float64))
		near(t, []float64{-1, 4, 0}, target.Grad().To(tensor.Float64))
		require.Equal(t, tensor.Float16, x.Grad().DType())
		require.Equal(t, tensor.Float32, target.Grad().DType())
		classes := tensor.FromSlice(d, []bool{true, false, true})
		require.Equal(t, tensor.Float16, x.BCEWithLogits(classes, tensor.BCEOptions{}).DType())
		ints := tensor.FromSlice(d, []int64{1, 2})
		require.ErrorIs(t, ints.L1Loss(ints, tensor.MeanReduction).Err(), tensor.ErrDType)
	})
}

// TestLossMemory: what a loss and its gradients take, beside its operands and a
// few words, is lossTable's number of buffers; the loss holds its operands alone.
func TestLossMemory(t *testing.T) { onDevices(t, checkLossMemory) }

func checkLossMemory(t *testing.T, d *tensor.Device) {
	const rows, size, words = 1 << 12, 2 * 3 * 4 << 12, 4096
	for _, l := range lossTable {
		for to, want := range l.peak {
			x, target := lossInputs(d, l.x)
			spread := func(t *tensor.Tensor) *tensor.Tensor {
				return t.To(tensor.Float32).Unsqueeze(0).Expand(rows, 2, 3).Clone()
			}
			x, target = spread(x).RequireGrad(), spread(target)
			if to == 1 {
				target = target.RequireGrad()
			}
			f := l.f
			if l.name == "BCEWithLogits" || l.name == "BCELoss" { // the weights would count
				f = map[string]lossOf{"BCEWithLogits": bceLogits, "BCELoss": bce}[l.name]
			}
			before := live(d)
			d.Memory().ResetPeak()
			y := f(x, target, tensor.MeanReduction)
			require.LessOrEqual(t, live(d)-before, int64(words), "%s holds more than its operands", l.name)
			require.NoError(t, y.Backward())
			peak := d.Memory().Stats().AllocatedBytes.All.Peak - before
			require.LessOrEqual(t, peak, int64(want*size+words), "%s to %d operands", l.name, to+1)
			require.Greater(t, peak, int64((want-1)*size+words), "%s takes less: lower its number", l.name)
			for _, t := range []*tensor.Tensor{y, x, target} { // else the collector would, during the next
				t.Release()
			}
		}
	}
}

// TestBadLosses: bad input is a typed error and leaves nothing behind.
func TestBadLosses(t *testing.T) {
	type T = *tensor.Tensor
	const f32 = tensor.Float32
	const mean = tensor.MeanReduction
	of := func(d *tensor.Device, dims ...int) T { return tensor.Ones(d, f32, dims...) }
	for name, c := range map[string]struct {
		f   func(d *tensor.Device, x T) T // x float32 [2,3]
		is  error
		say string
	}{
		"shapes":    {func(d *tensor.Device, x T) T { return x.MSELoss(of(d, 3), mean) }, tensor.ErrShape, "[3], want [2, 3]"},
		"reduction": {func(_ *tensor.Device, x T) T { return x.L1Loss(x, 9) }, kernels.ErrAttr, "reduction 9"},
		"batch":     {func(_ *tensor.Device, x T) T { return x.BCELoss(x, nil, tensor.BatchMeanReduction) }, kernels.ErrAttr, "reduction 3"},
		"batch of NLL": {func(d *tensor.Device, x T) T {
			return x.NLL(tensor.Zeros(d, tensor.Int64, 2), tensor.NLLOptions{Reduction: tensor.BatchMeanReduction})
		}, kernels.ErrAttr, "reduction 3"},
		"delta":          {func(_ *tensor.Device, x T) T { return x.HuberLoss(x, 0, mean) }, kernels.ErrAttr, "delta 0"},
		"delta NaN":      {func(_ *tensor.Device, x T) T { return x.HuberLoss(x, math.NaN(), mean) }, kernels.ErrAttr, "delta NaN"},
		"beta":           {func(_ *tensor.Device, x T) T { return x.SmoothL1Loss(x, -1, mean) }, kernels.ErrAttr, "beta -1"},
		"weights":        {func(d *tensor.Device, x T) T { return x.BCELoss(x, of(d, 2), mean) }, tensor.ErrShape, "do not broadcast"},
		"larger weights": {func(d *tensor.Device, x T) T { return x.BCELoss(x, of(d, 4, 2, 3), mean) }, tensor.ErrShape, "weights [4, 2, 3]"},
		"type of weights": {func(d *tensor.Device, x T) T {
			return x.BCEWithLogits(x, tensor.BCEOptions{PosWeight: tensor.Ones(d, tensor.Float64, 3)})
		}, tensor.ErrDType, "weights are float64"},
		"weights' gradient": {func(d *tensor.Device, x T) T {
			return x.BCEWithLogits(x, tensor.BCEOptions{Weight: of(d, 3).RequireGrad()})
		}, tensor.ErrNoGradient, "constants"},
		"beta 0 and shapes": {func(d *tensor.Device, x T) T { return x.SmoothL1Loss(of(d, 3), 0, mean) }, tensor.ErrShape, "tensor: SmoothL1Loss"},
		"released":          {func(d *tensor.Device, x T) T { y := of(d, 2, 3); y.Release(); return x.MSELoss(y, mean) }, tensor.ErrReleased, "MSELoss"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newCPU(t)
			s := tensor.NewScope()
			y := c.f(d, tensor.Ones(d.In(s), f32, 2, 3))
			require.ErrorIs(t, y.Err(), c.is)
			require.ErrorContains(t, y.Err(), c.say)
			require.NoError(t, s.Close())
		})
	}
}
