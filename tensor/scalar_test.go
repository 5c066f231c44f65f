package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestScalars has numbers that the type of the elements does not hold.
func TestScalars(t *testing.T) {
	for _, kind := range testDevices {
		t.Run(kind.name, func(t *testing.T) {
			d := kind.open(t)
			small := tensor.FromSlice(d, []uint8{0, 1, 200}, 3)
			whole := tensor.FromSlice(d, []int64{-1, 0, math.MaxInt64}, 3)
			truth := tensor.FromSlice(d, []bool{false, true, true}, 3)
			half := tensor.FromSlice(d, []float64{0.25, math.NaN(), -3}, 3).To(tensor.BFloat16)
			for _, c := range []struct {
				name string
				got  *tensor.Tensor
				want []bool
			}{
				{"uint8 < 300", small.LtScalar(300), []bool{true, true, true}},
				{"uint8 > -1", small.GtScalar(-1), []bool{true, true, true}},
				{"uint8 >= 0.5", small.GeScalar(0.5), []bool{false, true, true}},
				{"int64 <= -0.5", whole.LeScalar(-0.5), []bool{true, false, false}},
				{"int64 < Inf", whole.LtScalar(math.Inf(1)), []bool{true, true, true}},
				{"int64 != NaN", whole.NeScalar(math.NaN()), []bool{true, true, true}},
				{"bool == 1", truth.EqScalar(1), []bool{false, true, true}},
				{"bool < 0.5", truth.LtScalar(0.5), []bool{true, false, false}},
				{"bfloat16 == 0.25", half.EqScalar(0.25), []bool{true, false, false}},
			} {
				got, err := tensor.Data[bool](c.got)
				require.NoError(t, err, c.name)
				require.Equal(t, c.want, got, c.name)
			}
			third := whole.DivScalar(3)
			require.Equal(t, tensor.Float32, third.DType())
			require.Equal(t, tensor.BFloat16, half.DivScalar(3).DType())

			require.NoError(t, small.Release())
			require.ErrorIs(t, small.EqScalar(1).Err(), tensor.ErrReleased)
			require.ErrorIs(t, third.Reshape(2).DivScalar(2).Err(), tensor.ErrShape)
		})
	}
}
