package tensor_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/tensor"
)

// attentionCase is one of testdata/torch/attention.json.
type attentionCase struct {
	Name                             string
	Causal, Hides                    bool
	Scale                            float64
	Q, K, V, Mask, O, DO, DQ, DK, DV numbers
}

type numbers struct {
	Shape []int
	At    []float64
}

func (n numbers) on(d *tensor.Device) *tensor.Tensor { return tensor.FromSlice(d, n.At, n.Shape...) }

// options has the mask as bools if it is to hide, and -1e308 as -Inf.
func (c *attentionCase) options(d *tensor.Device) tensor.AttentionOptions {
	o := tensor.AttentionOptions{Causal: c.Causal, Scale: c.Scale}
	switch {
	case c.Mask.Shape == nil:
	case c.Hides:
		seen := make([]bool, len(c.Mask.At))
		for i, x := range c.Mask.At {
			seen[i] = x != 0
		}
		o.Mask = tensor.FromSlice(d, seen, c.Mask.Shape...)
	default:
		m := numbers{Shape: c.Mask.Shape}
		for _, x := range c.Mask.At {
			if x == -1e308 {
				x = math.Inf(-1)
			}
			m.At = append(m.At, x)
		}
		o.Mask = m.on(d)
	}
	return o
}

// TestAttentionIsPyTorchs compares results and gradients with PyTorch's, those
// of rows that see nothing included.
func TestAttentionIsPyTorchs(t *testing.T) {
	data, err := os.ReadFile("testdata/torch/attention.json")
	require.NoError(t, err)
	var file struct{ Cases []attentionCase }
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Cases, 8)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			onDevices(t, func(t *testing.T, d *tensor.Device) { checkAttentionCase(t, d, &c) })
		})
	}
}

func checkAttentionCase(t *testing.T, d *tensor.Device, c *attentionCase) {
	q, k, v := c.Q.on(d).RequireGrad(), c.K.on(d).RequireGrad(), c.V.on(d).RequireGrad()
	o := q.Attention(k, v, c.options(d))
	require.NoError(t, o.Err())
	near := func(want numbers, got *tensor.Tensor) {
		t.Helper()
		require.Equal(t, tensor.Shape(want.Shape), got.Shape())
		at, err := tensor.Data[float64](got)
		require.NoError(t, err)
		require.InDeltaSlice(t, want.At, at, 1e-12)
	}
	near(c.O, o)
	require.NoError(t, o.BackwardWith(c.DO.on(d)))
	near(c.DQ, q.Grad())
	near(c.DK, k.Grad())
	near(c.DV, v.Grad())
}

// TestAttentionMemory: the peak of forward and backward grows as the number of
// queries and keys, not as their product.
func TestAttentionMemory(t *testing.T) { onDevices(t, checkAttentionMemory) }

func checkAttentionMemory(t *testing.T, d *tensor.Device) {
	tensor.SetThreads(1) // each thread has room for a tile of scores, and a short sequence fewer threads
	t.Cleanup(func() { tensor.SetThreads(0) })
	peak := func(n int) int64 {
		s := tensor.NewScope()
		x := tensor.Ones(d.In(s), tensor.Float32, 1, 2, n, 8).RequireGrad()
		d.Memory().ResetPeak()
		require.NoError(t, x.Attention(x, x, tensor.AttentionOptions{Causal: true}).Sum().Backward())
		p := d.Memory().Stats().RequestedBytes.All.Peak
		require.NoError(t, x.ZeroGrad())
		require.NoError(t, s.Close())
		return p
	}
	small, large := peak(96), peak(3*96)
	require.LessOrEqual(t, large, 3*small+4096)
	require.Less(t, large, int64(2*2*288*288*4), "less than the scores and their gradients")
}

// TestAttentionKeepsNothing: no block stays when the tensors are gone, whichever
// operands want gradients.
func TestAttentionKeepsNothing(t *testing.T) { onDevices(t, checkAttentionKeepsNothing) }

func checkAttentionKeepsNothing(t *testing.T, d *tensor.Device) {
	before := live(d)
	for want := range 8 {
		s := tensor.NewScope()
		var x [3]*tensor.Tensor
		for i := range x {
			x[i] = tensor.Ones(d.In(s), tensor.Float64, 2, 5, 4)
			if want>>i&1 == 1 {
				x[i].RequireGrad()
			}
		}
		o := x[0].Attention(x[1], x[2], tensor.AttentionOptions{})
		require.NoError(t, o.Err())
		if want != 0 {
			require.NoError(t, o.Sum().Backward())
		}
		for i := range x {
			require.Equal(t, want>>i&1 == 1, x[i].Grad() != nil)
			require.NoError(t, x[i].ZeroGrad())
		}
		require.NoError(t, s.Close())
	}
	require.Equal(t, before, live(d))
}

// TestBadAttention gives each kind of bad input.
func TestBadAttention(t *testing.T) {
	const f32, f64 = tensor.Float32, tensor.Float64
	d := newDevice(t, func(*memory.Config) {})
	s := tensor.NewScope()
	of := func(dt tensor.DType, shape ...int) *tensor.Tensor { return tensor.Ones(d.In(s), dt, shape...) }
	q, k, v := of(f32, 2, 4, 3), of(f32, 2, 5, 3), of(f32, 2, 5, 6)
	type options = tensor.AttentionOptions
	for name, c := range map[string]struct {
		y    *tensor.Tensor
		is   error
		says string
	}{
		"dtypes":        {q.Attention(k.To(f64), v, options{}), tensor.ErrDType, "float32, float64 and float32"},
		"integers":      {q.To(tensor.Int64).Attention(k.To(tensor.Int64), v.To(tensor.Int64), options{}), tensor.ErrDType, "int64"},
		"ranks":         {q.Attention(k, v.Select(0, 0), options{}), tensor.ErrShape, "as many each"},
		"rank 1":        {of(f32, 3).Attention(of(f32, 3), of(f32, 3), options{}), tensor.ErrShape, "2, 3 or 4 dims"},
		"rank 5":        {of(f32, 1, 1, 1, 1, 3).Attention(of(f32, 1, 1, 1, 1, 3), of(f32, 1, 1, 1, 1, 3), options{}), tensor.ErrShape, "2, 3 or 4 dims"},
		"width":         {q.Attention(v, v, options{}), tensor.ErrShape, "Attention [2, 4, 3], [2, 5, 6], [2, 5, 6]"},
		"keys":          {q.Attention(q, v, options{}), tensor.ErrShape, "[B G S E]"},
		"heads":         {q.Attention(of(f32, 3, 5, 3), of(f32, 3, 5, 6), options{}), tensor.ErrShape, "3 heads of k"},
		"mask's dims":   {q.Attention(k, v, options{Mask: of(f32, 5, 4)}), tensor.ErrShape, "broadcast to [2 4 5]"},
		"mask's rank":   {q.Attention(k, v, options{Mask: of(f32, 1, 2, 4, 5)}), tensor.ErrShape, "broadcast to [2 4 5]"},
		"mask's dtype":  {q.Attention(k, v, options{Mask: of(f64, 4, 5)}), tensor.ErrDType, "the mask is float64"},
		"mask learnt":   {q.Attention(k, v, options{Mask: of(f32, 4, 5).RequireGrad()}), tensor.ErrNoGradient, "Detach"},
		"no such scale": {q.Attention(k, v, options{Scale: math.NaN()}), nil, "scale NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.y.Err(), c.says)
			if c.is != nil {
				require.ErrorIs(t, c.y.Err(), c.is)
			}
			var e *tensor.Error
			require.ErrorAs(t, c.y.Err(), &e)
			require.Equal(t, "Attention", e.Op)
		})
	}
	require.NoError(t, s.Close())
	require.Zero(t, live(d), "nothing is left of a call that failed")
}
