// Package ref does every op of package kernels in plain Go: one element at a
// time, by indices and strides, sums in float64 without rounding errors to speak
// of. It is slow and plainly right,
// the oracle that the other bodies are tested against. It takes no care of
// speed at all, needs no workspace and allocates as it likes.
//
// Operands are addresses in host memory, as for kernels/cpu.
package ref

import (
	"math"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// Table returns the reference ops.
func Table() *kernels.Table {
	t := new(kernels.Table)
	for id := range kernels.ID(kernels.NumOps) {
		body := bodies[id]
		if body == nil {
			continue
		}
		t[id] = &kernels.Op{
			ID:     id,
			DTypes: id.DTypes(),
			Run: func(_ kernels.Queue, a *kernels.Args) error {
				if err := kernels.Check(id, id.DTypes(), a); err != nil {
					return err
				}
				if kernels.NothingToWrite(a) {
					return nil
				}
				return body(a)
			},
		}
	}
	return t
}

// bodies do the ops, for every dtype that the specification allows.
var bodies = [kernels.NumOps]func(a *kernels.Args) error{
	kernels.Fill:             fill,
	kernels.Copy:             convert,
	kernels.Where:            where,
	kernels.Sum:              sum,
	kernels.Prod:             product,
	kernels.Max:              maximum,
	kernels.Min:              minimum,
	kernels.MaxGrad:          maxGrad,
	kernels.ArgMax:           argMax,
	kernels.ArgMin:           argMin,
	kernels.Any:              holds(true),
	kernels.All:              holds(false),
	kernels.Var:              variance,
	kernels.LogSumExp:        logSumExp,
	kernels.Norm:             powerNorm,
	kernels.CumSum:           scan(0, func(x, y float64) float64 { return x + y }, func(x, y int64) int64 { return x + y }),
	kernels.CumProd:          scan(1, func(x, y float64) float64 { return x * y }, func(x, y int64) int64 { return x * y }),
	kernels.CumProdGrad:      cumProdGrad,
	kernels.Sort:             sortAxis,
	kernels.SortGrad:         sortGrad,
	kernels.Gather:           gather,
	kernels.Scatter:          scatter(false),
	kernels.ScatterAdd:       scatter(true),
	kernels.MatMul:           matMul,
	kernels.Conv:             conv,
	kernels.ConvGradInput:    convGradInput,
	kernels.ConvGradWeight:   convGradWeight,
	kernels.MaxPool:          maxPool,
	kernels.MaxPoolGrad:      maxPoolGrad,
	kernels.AvgPool:          avgPool,
	kernels.AvgPoolGrad:      avgPoolGrad,
	kernels.CrossEntropy:     crossEntropy,
	kernels.CrossEntropyGrad: crossEntropyGrad,
	kernels.Attention:        attention,
	kernels.AttentionGrad:    attentionGrad,
	kernels.Softmax:          softmax,
	kernels.LogSoftmax:       logSoftmax,
	kernels.SoftmaxGrad:      softmaxGrad,
	kernels.LogSoftmaxGrad:   logSoftmaxGrad,
	kernels.LayerNorm:        layerNorm(kernels.LayerNorm),
	kernels.LayerNormGrad:    layerNormGrad(kernels.LayerNormGrad),
	kernels.RMSNorm:          layerNorm(kernels.RMSNorm),
	kernels.RMSNormGrad:      layerNormGrad(kernels.RMSNormGrad),
	kernels.GroupNorm:        layerNorm(kernels.GroupNorm),
	kernels.GroupNormGrad:    layerNormGrad(kernels.GroupNormGrad),
	kernels.BatchNorm:        batchNorm,
	kernels.BatchNormInfer:   batchNormInfer,
	kernels.BatchNormGrad:    batchNormGrad,
	kernels.NLL:              nll,
	kernels.NLLGrad:          nllGrad,
	kernels.SGDStep:          sgdStep,
	kernels.AdamWStep:        adamWStep,
	kernels.Sequence:         sequence,
	kernels.RandomUniform:    randomUniform,
	kernels.RandomNormal:     randomNormal,
	kernels.RandomInt:        randomInt,
	kernels.Bernoulli:        bernoulli,
	kernels.Dropout:          dropout,

	kernels.AdaptiveAvgPool:     adaptiveAvgPool,
	kernels.AdaptiveAvgPoolGrad: adaptiveAvgPoolGrad,
}

func init() {
	for id := range bodies {
		switch u, b, t := scalar.Unaries[id], scalar.Binaries[id], scalar.Tests[id]; {
		case u.Float != nil || u.Whole != nil:
			bodies[id] = unary(u)
		case b.Float != nil || b.Whole != nil:
			bodies[id] = binary(b)
		case t.Float != nil:
			bodies[id] = test(t)
		}
	}
}

// each calls f with every index of v in row-major order.
func each(v *kernels.View, f func(index []int64)) {
	dims := v.Dims[:v.Rank]
	index := make([]int64, v.Rank)
	for range v.Len() {
		f(index)
		for d := len(dims) - 1; d >= 0; d-- {
			index[d]++
			if index[d] < dims[d] {
				break
			}
			index[d] = 0
		}
	}
}

// eachOf calls f with every index of big that is reduced to the element of
// small, which has dims of 1 where big is reduced, at the given index.
func eachOf(big, small *kernels.View, index []int64, f func(index []int64)) {
	part := *big // the elements in question, counted from 0 on along every dim
	from := make([]int64, big.Rank)
	for d := range from {
		if small.Dims[d] == big.Dims[d] {
			part.Dims[d] = 1
			from[d] = index[d]
		}
	}
	at := make([]int64, big.Rank)
	each(&part, func(i []int64) {
		for d := range at {
			at[d] = from[d] + i[d]
		}
		f(at)
	})
}

// exact adds up numbers with the rounding error of each addition carried along
// (Neumaier), so that its sum is right to the last bit or so.
type exact struct{ sum, lost float64 }

func (e *exact) add(x float64) {
	s := e.sum + x
	if math.Abs(e.sum) >= math.Abs(x) {
		e.lost += (e.sum - s) + x
	} else {
		e.lost += (x - s) + e.sum
	}
	e.sum = s
}

func (e *exact) value() float64 {
	if math.IsInf(e.sum, 0) || math.IsNaN(e.sum) {
		return e.sum // lost is NaN then
	}
	return e.sum + e.lost
}
