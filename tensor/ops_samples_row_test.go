package tensor_test

import "tarn/tensor"

func rowSamples() map[string][]opSample {
	affine := func(f func(x, w, b T) T, x opInput, w ...int) []opSample {
		return []opSample{
			one(func(in []T) T { return f(in[0], in[1], in[2]) }, x, of(w...), of(w...)),
			one(func(in []T) T { return f(in[0], nil, nil) }, x),
		}
	}
	layer := func(x, w, b T) T {
		if w == nil {
			return x.LayerNormDims(1, 0.1)
		}
		return x.LayerNorm(w, b, 0.1)
	}
	rms := func(x, w, _ T) T {
		if w == nil {
			return x.RMSNormDims(1, 0.1)
		}
		return x.RMSNorm(w, 0.1)
	}
	group := func(x, w, b T) T { return x.GroupNorm(2, w, b, 0.1) }
	batch := func(x, w, b T) T {
		return x.BatchNorm(w, b, nil, nil, tensor.BatchNormOptions{Training: true, Eps: 0.1})
	}
	infer := one(func(in []T) T { return in[0].BatchNorm(in[1], in[2], in[3], in[4], tensor.BatchNormOptions{Eps: 0.1}) },
		of(3, 4, 2), of(4), of(4), above0(4).as(tensor.Float64), above0(4).as(tensor.Float64))
	infer.f = func(in []T) T {
		dt := in[0].DType()
		if dt != tensor.Float64 {
			dt = tensor.Float32
		}
		return in[0].BatchNorm(in[1], in[2], in[3].To(dt), in[4].To(dt), tensor.BatchNormOptions{Eps: 0.1})
	}
	// The second input of RMSNorm has no use for b: it is left out.
	rmsSamples := []opSample{
		one(func(in []T) T { return rms(in[0], in[1], nil) }, of(3, 5), of(5)),
		one(func(in []T) T { return rms(in[0], in[1], nil) }, of(2, 3, 4), of(3, 4)),
		one(func(in []T) T { return rms(in[0], nil, nil) }, of(3, 5)),
	}
	nll := tensor.NLLOptions{}
	smooth := tensor.CrossEntropyOptions{LabelSmoothing: 0.1, Reduction: tensor.NoReduction}
	return map[string][]opSample{
		"Softmax": scans(T.Softmax, of), "LogSoftmax": scans(T.LogSoftmax, of),
		"LayerNorm": append(affine(layer, of(3, 5), 5), affine(layer, of(2, 3, 4), 3, 4)...),
		"RMSNorm":   rmsSamples,
		"GroupNorm": append(affine(group, of(2, 4, 3), 4), affine(group, of(2, 4), 4)...),
		"BatchNorm": append(append(affine(batch, of(3, 4, 2), 4), affine(batch, of(5, 3), 3)...), infer),
		"CrossEntropy": {
			one(func(in []T) T { return in[0].CrossEntropy(in[1]) }, of(3, 4), below(4, 3)),
			one(func(in []T) T { return in[0].CrossEntropy(in[1]) }, of(1, 1), below(1, 1)),
		},
		"CrossEntropyWith": {one(func(in []T) T { return in[0].CrossEntropyWith(in[1], smooth) }, of(3, 4), below(4, 3))},
		"NLL":              {one(func(in []T) T { return in[0].LogSoftmax(1).NLL(in[1], nll) }, of(3, 4), below(4, 3))},
	}
}
