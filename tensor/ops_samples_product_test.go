package tensor_test

import "tarn/tensor"

func productSamples() map[string][]opSample {
	linear := func(f func(x, w, b T) T) []opSample {
		run := func(in []T) T { return f(in[0], in[1], in[2]) }
		return []opSample{one(run, of(3, 4), of(4, 5), of(5)), one(run, of(0, 4), of(4, 2), of(2)), one(run, of(2, 0), of(0, 3), of(3)), one(run, of(2, 3, 4), of(4, 5), of(5)), one(run, of(4), of(4, 5), of(5))}
	}
	conv2 := func(c tensor.Conv, x, w opInput) opSample {
		return one(func(in []T) T { return in[0].Conv2D(in[1], in[2], c) }, x, w, of(w.shape[0]))
	}
	pool := func(f func(T, tensor.Pool) T, p tensor.Pool, shape ...int) opSample {
		return one(func(in []T) T { return f(in[0], p) }, distinct(shape...))
	}
	square, wide := tensor.Pool{Kernel: [2]int{2, 2}, Stride: [2]int{2, 2}}, tensor.Pool{Kernel: [2]int{3, 2}, Stride: [2]int{1, 2}, Padding: [2]int{1, 1}, CeilMode: true}
	row := tensor.Pool{Kernel: [2]int{3}, Stride: [2]int{2}, Padding: [2]int{1}}
	attend := func(o tensor.AttentionOptions, q, k, v opInput) opSample {
		return one(func(in []T) T { return in[0].Attention(in[1], in[2], o) }, q, k, v)
	}
	return map[string][]opSample{
		"MatMul": {
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(3), of(2, 3, 4)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(2, 1, 3, 4), of(3, 4, 2)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(2, 3, 4), of(4, 2)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(0, 3, 4), of(4)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(3, 4), of(4, 5)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(1, 1), of(1, 7)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(0, 3), of(3, 2)),
			one(func(in []T) T { return in[0].MatMul(in[1]) }, of(3, 0), of(0, 2)),
			one(func(in []T) T { return in[0].MatMul(in[1].T()) }, of(2, 3), of(5, 3)),
			one(func(in []T) T { return in[0].T().MatMul(in[0]) }, of(3, 3)),
		},
		"Dot":   {one(func(in []T) T { return in[0].Dot(in[1]) }, of(7), of(7)), one(func(in []T) T { return in[0].Dot(in[1]) }, of(0), of(0))},
		"Outer": {one(func(in []T) T { return in[0].Outer(in[1]) }, of(3), of(5)), one(func(in []T) T { return in[0].Outer(in[1]) }, of(0), of(5))},
		"Einsum": {
			one(func(in []T) T { return tensor.Einsum("bhqd,bkhd->bhqk", in...) }, of(2, 2, 3, 4), of(2, 5, 2, 4)),
			one(func(in []T) T { return tensor.Einsum("...ij,...jk,k", in...) }, of(2, 3, 4), of(4, 5), of(5)),
			one(func(in []T) T { return tensor.Einsum("ii->i", in...) }, of(3, 3)),
		},
		"Linear": append(linear(T.Linear), linear(func(x, w, b T) T { return x.MulScalar(3).LinearReLU(w, b) })...),
		"Conv2D": {
			conv2(tensor.Conv{}, of(2, 3, 5, 4), of(2, 3, 3, 2)),
			conv2(tensor.Conv{Stride: [2]int{2, 1}, Padding: [2]int{1, 2}, Dilation: [2]int{1, 2}, Groups: 2}, of(1, 4, 5, 6), of(2, 2, 3, 3)),
			conv2(tensor.Conv{Groups: 3, Padding: [2]int{1, 1}}, of(2, 3, 3, 3), of(3, 1, 3, 3)),
			conv2(tensor.Conv{}, of(0, 1, 2, 2), of(1, 1, 1, 1)),
			one(func(in []T) T { return in[0].Conv2D(in[1], nil, tensor.Conv{}) }, of(1, 1, 3, 3), of(1, 1, 2, 2)),
		},
		"Conv1D": {one(func(in []T) T { return in[0].Conv1D(in[1], in[2], tensor.Conv{Padding: [2]int{1}}) }, of(2, 2, 5), of(3, 2, 3), of(3))},
		"MaxPool2D": {pool(T.MaxPool2D, square, 1, 2, 4, 4), pool(T.MaxPool2D, wide, 2, 1, 4, 5),
			{in: []opInput{distinct(1, 2, 4, 4)}, f: func(in []T) T { _, i := in[0].MaxPool2DIndices(square); return i }, constant: true}},
		"MaxPool1D": {pool(T.MaxPool1D, row, 2, 2, 7)},
		"AvgPool2D": {pool(T.AvgPool2D, square, 1, 2, 4, 4), pool(T.AvgPool2D, wide, 2, 1, 4, 5)},
		"AvgPool1D": {pool(T.AvgPool1D, row, 2, 2, 7)},
		"AdaptiveAvgPool2D": {one(func(in []T) T { return in[0].AdaptiveAvgPool2D(2, 3) }, of(1, 2, 5, 4)),
			one(func(in []T) T { return in[0].AdaptiveAvgPool2D(1, 1) }, of(2, 1, 3, 3))},
		"AdaptiveAvgPool1D": {one(func(in []T) T { return in[0].AdaptiveAvgPool1D(3) }, of(1, 2, 7))},
		"Attention": {
			attend(tensor.AttentionOptions{}, of(1, 2, 3, 4), of(1, 2, 5, 4), of(1, 2, 5, 3)),
			attend(tensor.AttentionOptions{Causal: true}, of(1, 2, 4, 3), of(1, 1, 4, 3), of(1, 1, 4, 3)),
			attend(tensor.AttentionOptions{Scale: 0.3}, of(2, 3, 4), of(2, 3, 4), of(2, 3, 4)),
			one(func(in []T) T { return in[0].Attention(in[1], in[1], tensor.AttentionOptions{Mask: in[2]}) }, of(1, 1, 3, 4), of(1, 1, 2, 4), mask(3, 2)),
		},
	}
}
