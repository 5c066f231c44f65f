package tensor_test

import "tarn/tensor"

func lossSamples() map[string][]opSample {
	shapes := [][]int{{}, {0}, {3, 5}, {2, 1, 3}}
	losses := func(f lossOf, x, target func(shape ...int) opInput) (all []opSample) {
		for _, r := range []tensor.Reduction{tensor.MeanReduction, tensor.SumReduction, tensor.NoReduction} {
			for _, s := range shapes {
				all = append(all, one(func(in []T) T { return f(in[0], in[1], r) }, x(s...), target(s...)))
			}
		}
		return all
	}
	chance := func(shape ...int) opInput { return opInput{shape: shape, draw: between} }
	// The weights are constants, in the type that is being tried.
	weighted := one(func(in []T) T {
		return in[0].BCEWithLogits(in[1], tensor.BCEOptions{Weight: in[2].To(in[0].DType()), PosWeight: in[3].To(in[0].DType())})
	}, of(3, 5), chance(3, 5), chance(5).as(tensor.Float64), chance(3, 1).as(tensor.Float64))
	batch := one(func(in []T) T { return klDiv(in[0], in[1], tensor.BatchMeanReduction) }, of(3, 5), chance(3, 5))
	return map[string][]opSample{
		"MSELoss":       losses(T.MSELoss, of, of),
		"L1Loss":        losses(T.L1Loss, of, above0),
		"HuberLoss":     losses(huber(1), of, of),
		"SmoothL1Loss":  append(losses(smoothL1(1), of, of), losses(smoothL1(0), of, above0)...),
		"KLDiv":         append(append(losses(klDiv, of, chance), losses(klDivLog, of, of)...), batch),
		"BCEWithLogits": append(losses(bceLogits, of, chance), weighted),
		"BCELoss":       losses(bce, chance, chance),
	}
}
