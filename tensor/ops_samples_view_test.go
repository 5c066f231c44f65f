package tensor_test

// cube tries f on a tensor of three dims, and on one of them without elements.
func cube(f func(T) T) []opSample {
	return []opSample{
		one(func(in []T) T { return f(in[0]) }, of(2, 3, 4)),
		one(func(in []T) T { return f(in[0]) }, of(2, 0, 4)),
		one(func(in []T) T { return f(in[0]) }, of(1, 1, 4)),
	}
}

// part tries f on one shape.
func part(shape []int, f func(T) T) []opSample {
	return []opSample{one(func(in []T) T { return f(in[0]) }, of(shape...))}
}

func viewSamples() map[string][]opSample {
	return map[string][]opSample{
		"Transpose": cube(func(a T) T { return a.Transpose(0, -1) }),
		"Permute":   cube(func(a T) T { return a.Permute(2, 0, 1) }),
		"MoveDim":   cube(func(a T) T { return a.MoveDim(0, 2) }),
		"Expand":    append(part([]int{3, 1}, func(a T) T { return a.Expand(2, 3, 4) }), part(nil, func(a T) T { return a.Expand(5) })...),
		"Slice":     append(cube(func(a T) T { return a.Slice(2, 1, 4, 2) }), part([]int{7}, func(a T) T { return a.Slice(0, 5, 2, 1) })...),
		"Select":    append(part([]int{3, 5}, func(a T) T { return a.Select(1, -2) }), part([]int{4}, func(a T) T { return a.Select(0, 1) })...),
		"Reshape":   cube(func(a T) T { return a.Reshape(4, -1) })[:1],
		"View":      part([]int{3, 4}, func(a T) T { return a.Clone().View(2, 6) }),
		"Flatten":   cube(func(a T) T { return a.Flatten(0, 1) }),
		"Unsqueeze": cube(func(a T) T { return a.Unsqueeze(-1) }),
		"Squeeze":   part([]int{3, 1, 4}, func(a T) T { return a.Squeeze(1) }),
		"Split":     part([]int{5, 2}, func(a T) T { return a.Split(2, 0)[1] }),
		"Chunk":     part([]int{5, 2}, func(a T) T { return a.Chunk(2, 0)[1] }),
		"Diagonal":  append(part([]int{4, 5}, func(a T) T { return a.Diagonal(1, 0, 1) }), part([]int{2, 3, 3}, func(a T) T { return a.Diagonal(-1, 1, 2) })...),
		"Unfold":    part([]int{3, 7}, func(a T) T { return a.Unfold(1, 3, 2) }),
		"Clone":     append(cube(T.Clone), cube(T.Contiguous)...),
		"ToDevice":  cube(func(a T) T { return a.ToDevice(a.Device()) }),
	}
}
