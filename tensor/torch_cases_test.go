package tensor_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// torchFile is what make_ops.py writes for one family of ops; it says what the
// fields of a case mean.
type torchFile struct {
	Torch string
	Cases []torchCase
}

type torchCase struct {
	Name    string // op/dtype/edge
	In, Out []*torchTensor
	Args    map[string]json.RawMessage
	Up      []*torchTensor
	Grads   []*torchTensor
	Error   string
}

type torchTensor struct {
	DType string
	Shape []int
	Data  []json.RawMessage
	View  [][]any
}

// torchFamilies are the files, by what they are called between "ops_" and ".json".
var torchFamilies = []string{"elementwise", "index", "loss", "norm", "product", "reduce", "window"}

func torchCases(t *testing.T, family string) []torchCase {
	t.Helper()
	text, err := os.ReadFile("testdata/torch/ops_" + family + ".json")
	require.NoError(t, err)
	var f torchFile
	require.NoError(t, json.Unmarshal(text, &f))
	require.NotEmpty(t, f.Cases)
	return f.Cases
}

func (c *torchCase) op() string { return strings.SplitN(c.Name, "/", 2)[0] }

// number reads one element or argument: a number, or the name of a special float.
func number(t *testing.T, raw json.RawMessage) float64 {
	t.Helper()
	text := strings.Trim(string(raw), `"`)
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

func (x *torchTensor) numbers(t *testing.T) []float64 {
	t.Helper()
	return mapped(x.Data, func(r json.RawMessage) float64 { return number(t, r) })
}

// load puts the elements there, and view takes the view of them that the op gets.
func (x *torchTensor) load(t *testing.T, p tensor.Place) *tensor.Tensor {
	t.Helper()
	return ofNumbers(p, dtypeNamed(t, x.DType), x.numbers(t), x.Shape...)
}

func (x *torchTensor) view(t *testing.T, y *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	for _, step := range x.View {
		n := mapped(step[1:], func(v any) int { return int(v.(float64)) })
		switch step[0] {
		case "transpose":
			y = y.Transpose(-1, -2)
		case "slice":
			y = y.Slice(-1, 1, y.Dim(-1), n[0])
		case "expand":
			y = y.Expand(n...)
		default:
			t.Fatalf("no view is called %v", step[0])
		}
	}
	return y
}

// torchArgs are a case's arguments. One that the op here does not ask for is a
// difference in meaning, and fails the case.
type torchArgs struct {
	t     *testing.T
	raw   map[string]json.RawMessage
	asked map[string]bool
}

func (a torchArgs) has(name string) bool {
	a.asked[name] = true
	return a.raw[name] != nil
}

func (a torchArgs) get(name string, to any) {
	a.t.Helper()
	if a.has(name) {
		require.NoError(a.t, json.Unmarshal(a.raw[name], to), name)
	}
}

func (a torchArgs) float(name string) float64 {
	a.t.Helper()
	require.True(a.t, a.has(name), name)
	return number(a.t, a.raw[name])
}

func (a torchArgs) int(name string) (v int)     { a.get(name, &v); return v }
func (a torchArgs) ints(name string) (v []int)  { a.get(name, &v); return v }
func (a torchArgs) bool(name string) (v bool)   { a.get(name, &v); return v }
func (a torchArgs) text(name string) (v string) { a.get(name, &v); return v }
func (a torchArgs) dtype() tensor.DType         { return dtypeNamed(a.t, a.text("dtype")) }

// torchOp runs an op as this package spells it.
type torchOp func(p tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor

// departure is where this package means to differ from PyTorch.
type departure struct {
	why     string
	refused bool // an error here
	works   bool // no error here
	zeros   bool // of either sign
	// The first elements here, instead of PyTorch's output or gradient of that number.
	output, grad map[int][]float64
}

// runTorchCases runs a family's cases, of which each must agree with PyTorch but
// for what departures say.
func runTorchCases(t *testing.T, family string, ops map[string]torchOp, departures map[string]departure) {
	for name := range departures {
		require.Contains(t, mapped(torchCases(t, family), func(c torchCase) string { return c.Name }), name)
	}
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		for _, c := range torchCases(t, family) {
			require.Contains(t, ops, c.op())
			t.Run(c.Name, func(t *testing.T) { checkTorchCase(t, d, &c, ops[c.op()], departures[c.Name]) })
		}
	})
}

func checkTorchCase(t *testing.T, d *tensor.Device, c *torchCase, run torchOp, differs departure) {
	before := live(d)
	scope := tensor.NewScope()
	defer func() {
		require.NoError(t, scope.Close())
		require.Equal(t, before, live(d), "bytes that the case left")
	}()
	place := d.In(scope)
	leaves, in := make([]*tensor.Tensor, len(c.In)), make([]*tensor.Tensor, len(c.In))
	for i, x := range c.In {
		leaves[i] = x.load(t, place)
		if i < len(c.Grads) && c.Grads[i] != nil {
			leaves[i] = leaves[i].RequireGrad()
		}
		in[i] = x.view(t, leaves[i])
	}
	args := torchArgs{t, c.Args, map[string]bool{}}
	out := run(place, in, args)
	for name := range c.Args {
		require.True(t, args.asked[name], "argument %s is not used", name)
	}
	err := d.Synchronize()
	for _, y := range out {
		err = errors.Join(err, y.Err())
	}
	if c.Error != "" && !differs.works || differs.refused {
		requireTyped(t, err, c.Error)
	} else {
		require.NoError(t, err)
	}
	if c.Error == "" && !differs.refused {
		require.Len(t, out, len(c.Out))
		for i, y := range out {
			requireTorch(t, "output "+strconv.Itoa(i), c.Out[i], y, differs.output[i], closeness{outputTolerance, !differs.zeros})
		}
		checkTorchGrads(t, c, leaves, out, place, differs)
	}
}

func checkTorchGrads(t *testing.T, c *torchCase, leaves, out []*tensor.Tensor, p tensor.Place, differs departure) {
	var outputs, inputs, upstreams []*tensor.Tensor
	var wants []int
	for i, up := range c.Up {
		if up != nil {
			outputs, upstreams = append(outputs, out[i]), append(upstreams, up.load(t, p))
		}
	}
	for i, g := range c.Grads {
		if g != nil {
			inputs, wants = append(inputs, leaves[i]), append(wants, i)
		}
	}
	if len(wants) == 0 {
		return
	}
	grads, err := tensor.Grad(outputs, inputs, upstreams)
	require.NoError(t, err)
	for k, i := range wants {
		requireTorch(t, "gradient "+strconv.Itoa(i), c.Grads[i], grads[k], differs.grad[i], closeness{gradTolerance, false})
	}
}

// requireTyped wants an error that a caller can tell by its kind.
func requireTyped(t *testing.T, err error, torch string) {
	t.Helper()
	require.Error(t, err, "PyTorch: %s", torch)
	for _, kind := range []error{tensor.ErrShape, tensor.ErrDType, tensor.ErrValue, tensor.ErrIndex, tensor.ErrEquation, kernels.ErrAttr} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.Fail(t, "an error of no kind", "%v", err)
}

// What a result may be off, as a part of an element that is above 1, else of 1 or
// the largest element: some units of the last place, since PyTorch adds up in
// another order, and rounds the gradients of half types on the way.
var (
	outputTolerance = map[string]float64{"float64": 1e-14, "float32": 2e-6, "float16": 0x1p-9, "bfloat16": 0x1p-6}
	gradTolerance   = map[string]float64{"float64": 2e-14, "float32": 4e-6, "float16": 0x1p-8, "bfloat16": 0x1p-5}
)

// closeness is how near to PyTorch's a result must be.
type closeness struct {
	tolerance map[string]float64
	signs     bool // of zeros too
}

// requireTorch compares with PyTorch's: shape, dtype, NaN, infinities, integers
// and, where asked, the sign of zeros exactly. Where this package departs it has the
// elements given instead, and PyTorch other ones.
func requireTorch(t *testing.T, what string, want *torchTensor, got *tensor.Tensor, instead []float64, near closeness) {
	t.Helper()
	require.NotNil(t, got, what)
	require.NoError(t, got.Err(), what)
	require.Equal(t, want.DType, got.DType().String(), what)
	require.Equal(t, append([]int{}, want.Shape...), append([]int{}, got.Shape()...), what)
	wanted, have := want.numbers(t), numbersOf(t, got)
	require.Len(t, have, len(wanted), what)
	if instead != nil {
		here := append(append([]float64{}, instead...), wanted[len(instead):]...)
		require.NotEmpty(t, differences(wanted, here, want.DType, near), "%s: no departure", what)
		wanted = here
	}
	if at := differences(wanted, have, want.DType, near); len(at) > 0 {
		require.Fail(t, "not PyTorch's", "%s, first element %d of %d that differ\nPyTorch %v\nhere    %v", what, at[0], len(at), wanted, have)
	}
}

// differences returns where b is not a.
func differences(a, b []float64, dtype string, near closeness) (at []int) {
	unit := 0.0
	for _, v := range a {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			unit = max(unit, math.Abs(v))
		}
	}
	unit = min(unit, 1)
	for i, w := range a {
		v := b[i]
		same := v == w && (!near.signs || w != 0 || math.Signbit(v) == math.Signbit(w))
		same = same || math.IsNaN(v) && math.IsNaN(w)
		off := math.Abs(v - w)
		if !same && (w == 0 && v == 0 || math.IsInf(w, 0) || !(off <= near.tolerance[dtype]*max(math.Abs(w), unit))) {
			at = append(at, i)
		}
	}
	return at
}

// TestTorchCases counts them: no two have a name, or a content, in common.
func TestTorchCases(t *testing.T) {
	names, contents := map[string]bool{}, map[string]string{}
	for _, family := range torchFamilies {
		for _, c := range torchCases(t, family) {
			require.Equal(t, 2, strings.Count(c.Name, "/"), c.Name)
			require.False(t, names[c.Name], c.Name)
			names[c.Name] = true
			text, err := json.Marshal([]any{c.op(), c.In, c.Args})
			require.NoError(t, err)
			require.Empty(t, contents[string(text)], c.Name)
			contents[string(text)] = c.Name
		}
	}
	require.GreaterOrEqual(t, len(names), 300)
}
