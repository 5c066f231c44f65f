package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

func between(low, high int64) kernels.Attr {
	return kernels.Attr{Random: kernels.RandomAttr{Low: low, High: high}}
}

func TestCheckRandom(t *testing.T) {
	for _, c := range []checkCase{
		good("sequence", kernels.Sequence, 1, view(kernels.Uint8, 3)).with(kernels.Attr{Alpha: 250, Beta: 9}),
		good("uniform", kernels.RandomUniform, 1, view(f16, 3)).with(kernels.Attr{Alpha: -1, Beta: 1}),
		good("one number", kernels.RandomUniform, 1, view(f32, 3)).with(kernels.Attr{Alpha: 2, Beta: 2}),
		good("no deviation", kernels.RandomNormal, 1, view(f32, 3)),
		good("all bytes", kernels.RandomInt, 1, view(kernels.Uint8, 3)).with(between(0, 256)),
		good("all int64 but one", kernels.RandomInt, 1, view(i64, 3)).with(between(math.MinInt64, math.MaxInt64)),
		good("probability", kernels.Bernoulli, 1, view(kernels.Bool, 3)).with(kernels.Attr{Alpha: 1}),
		good("probabilities", kernels.Bernoulli, 1, view(kernels.Bool, 2, 3), strided(view(f16, 2, 3), 0, 1)).with(kernels.Attr{Alpha: 7}),

		good("dropout in place", kernels.Dropout, 1, at(view(f16, 6), x), at(view(f16, 6), x)).with(kernels.Attr{Alpha: 0.5}),

		bad("dropout of all and more", kernels.Dropout, kernels.ErrAttr, "probability 1.5", 1, view(f32, 3), view(f32, 3)).with(kernels.Attr{Alpha: 1.5}),
		bad("dropout of other dims", kernels.Dropout, kernels.ErrDims, "in[0] float32[4]", 1, view(f32, 3), view(f32, 4)),
		bad("sequence of bools", kernels.Sequence, kernels.ErrDType, "bool[3]", 1, view(kernels.Bool, 3)),
		bad("no numbers", kernels.RandomUniform, kernels.ErrAttr, "[1, 0)", 1, view(f32, 3)).with(kernels.Attr{Alpha: 1}),
		bad("NaN", kernels.RandomUniform, kernels.ErrAttr, "NaN", 1, view(f64, 3)).with(kernels.Attr{Alpha: math.NaN()}),
		bad("infinitely many", kernels.RandomUniform, kernels.ErrAttr, "+Inf", 1, view(f64, 3)).with(kernels.Attr{Beta: math.Inf(1)}),
		bad("a size that overflows", kernels.RandomUniform, kernels.ErrAttr, "-3e+38", 1, view(f32, 3)).with(kernels.Attr{Alpha: -3e38, Beta: 3e38}),
		bad("negative deviation", kernels.RandomNormal, kernels.ErrAttr, "deviation -1", 1, view(f32, 3)).with(kernels.Attr{Beta: -1}),
		bad("normal integers", kernels.RandomNormal, kernels.ErrDType, "int64[3]", 1, view(i64, 3)),
		bad("an empty range", kernels.RandomInt, kernels.ErrAttr, "[4, 4)", 1, view(i64, 3)).with(between(4, 4)),
		bad("beyond a byte", kernels.RandomInt, kernels.ErrAttr, "from 0 to 255", 1, view(kernels.Uint8, 3)).with(between(0, 257)),
		bad("beyond float16's digits", kernels.RandomInt, kernels.ErrAttr, "from -2048 to 2048", 1, view(f16, 3)).with(between(0, 2050)),
		bad("random bools", kernels.RandomInt, kernels.ErrDType, "bool[3]", 1, view(kernels.Bool, 3)).with(between(0, 2)),
		bad("probability 2", kernels.Bernoulli, kernels.ErrAttr, "probability 2", 1, view(f32, 3)).with(kernels.Attr{Alpha: 2}),
		bad("integer probabilities", kernels.Bernoulli, kernels.ErrDType, "the probabilities, is int64", 1, view(f32, 3), view(i64, 3)),
		bad("other probabilities", kernels.Bernoulli, kernels.ErrDims, "in[0] float32[4]", 1, view(f32, 3), view(f32, 4)),
		bad("two probabilities", kernels.Bernoulli, kernels.ErrArgs, "want 1 and 0 to 1", 1, view(f32, 3), view(f32, 3), view(f32, 3)),
	} {
		t.Run(c.name, c.run)
	}
}

func TestRandomBlocks(t *testing.T) {
	for _, c := range []struct {
		id   kernels.ID
		d    kernels.DType
		n    int64
		want uint64
	}{
		{kernels.RandomUniform, f32, 0, 0}, {kernels.RandomUniform, f32, 4, 1}, {kernels.RandomUniform, f16, 5, 2},
		{kernels.RandomNormal, f64, 5, 3}, {kernels.RandomInt, kernels.Uint8, 5, 3}, {kernels.Bernoulli, f64, 5, 2}, {kernels.Dropout, f64, 8, 2},
	} {
		require.Equal(t, c.want, kernels.RandomBlocks(c.id, c.d, c.n), "%v of %d %v", c.id, c.n, c.d)
	}
}
