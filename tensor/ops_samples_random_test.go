package tensor_test

import "tarn/tensor"

func randomSamples() map[string][]opSample {
	dropout := func(p float64, training bool) func(x T) T {
		return func(x T) T { return x.Dropout(tensor.NewGenerator(9), p, training) }
	}
	return map[string][]opSample{
		"Dropout":   append(each(dropout(0.5, true), of), each(dropout(0.5, false), of)...),
		"Bernoulli": constant(each(func(p T) T { return p.Bernoulli(tensor.NewGenerator(9)) }, of)),
	}
}
