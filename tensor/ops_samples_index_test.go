package tensor_test

import "tarn/tensor"

func indexSamples() map[string][]opSample {
	// distinctAt puts index along dim 0 of a [4,3]: no place is met twice.
	distinctAt := func(a T) T { return tensor.FromSlice(beside(a), []int64{2, 0, 1, 0, 3, 2}, 2, 3) }
	return map[string][]opSample{
		"Gather": {
			one(func(in []T) T { return in[0].Gather(1, in[1]) }, of(3, 5), below(5, 3, 4)),
			one(func(in []T) T { return in[0].Gather(-2, in[1]) }, of(3, 5), below(3, 7, 5)),
			one(func(in []T) T { return in[0].Gather(0, in[1]) }, of(4), below(4, 0)),
			one(func(in []T) T { return in[0].Gather(0, in[1]) }, of(2, 3), below(2, 1, 2).as(tensor.Int32)),
		},
		"IndexSelect": {
			one(func(in []T) T { return in[0].IndexSelect(1, in[1]) }, of(2, 5, 3), below(5, 7)),
			one(func(in []T) T { return in[0].IndexSelect(0, in[1]) }, of(3, 0), below(3, 2)),
		},
		"Embedding": {
			one(func(in []T) T { return tensor.Embedding(in[0], in[1]) }, of(6, 3), below(6, 2, 4)),
			one(func(in []T) T { return tensor.Embedding(in[0], in[1]) }, of(2, 5), below(2)),
		},
		"Scatter":    {one(func(in []T) T { return in[0].Scatter(0, distinctAt(in[0]), in[1]) }, of(4, 3), of(2, 3))},
		"ScatterAdd": {one(func(in []T) T { return in[0].ScatterAdd(0, in[2], in[1]) }, of(4, 3), of(5, 3), below(4, 5, 3))},
		"IndexAdd":   {one(func(in []T) T { return in[0].IndexAdd(1, in[2], in[1]) }, of(3, 4), of(3, 6), below(4, 6))},
		"OneHot": {{in: []opInput{{shape: []int{3, 2}, draw: positive}}, constant: true,
			f: func(in []T) T { return in[0].OneHot(9) }}},
	}
}

func joinSamples() map[string][]opSample {
	return map[string][]opSample{
		"Concat": {
			one(func(in []T) T { return tensor.Concat(0, in...) }, of(2, 3), of(1, 3), of(0, 3)),
			one(func(in []T) T { return tensor.Concat(-1, in...) }, of(2, 3), of(2, 4)),
			one(func(in []T) T { return tensor.Concat(0, in[0], in[0]) }, of(3)),
		},
		"Stack": {
			one(func(in []T) T { return tensor.Stack(1, in...) }, of(2, 3), of(2, 3)),
			one(func(in []T) T { return tensor.Stack(0, in...) }, of(), of()),
		},
		"Flip":             cube(func(a T) T { return a.Flip(0, -1) }),
		"Roll":             cube(func(a T) T { return a.Roll([]int{1, -2}, []int{0, 2}) }),
		"Repeat":           append(cube(func(a T) T { return a.Repeat(2, 1, 1, 3) }), part([]int{3}, func(a T) T { return a.Repeat(0) })...),
		"Tile":             cube(func(a T) T { return a.Tile(2) }),
		"RepeatInterleave": cube(func(a T) T { return a.RepeatInterleave(3, 0) }),
		"Pad":              cube(func(a T) T { return a.Pad([]int{1, 2, -1, 1}, 1) })[:1],
		"PadWith": append(append(part([]int{2, 5}, func(a T) T { return a.PadWith(tensor.ReflectPad, []int{2, 3}) }),
			part([]int{2, 3}, func(a T) T { return a.PadWith(tensor.ReplicatePad, []int{2, 0, 1, 1}) })...),
			part([]int{2, 3}, func(a T) T { return a.PadWith(tensor.CircularPad, []int{3, 2}) })...),
		"Triu": append(cube(func(a T) T { return a.Triu(0) }), part([]int{5, 4}, func(a T) T { return a.Triu(-2) })...),
		"Tril": append(cube(func(a T) T { return a.Tril(1) }), part([]int{3, 5}, func(a T) T { return a.Tril(-1) })...),
	}
}
