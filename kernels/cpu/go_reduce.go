package cpu

import "tarn/kernels"

// partialLen is how many elements of a large reduction to a single number make
// one partial result. It is part of the order of the sum and so independent of
// the number of threads.
const partialLen = 1 << 15

// split makes of two views of the reduced operand, given with the result of
// the reduction, one of the dims that stay and one of those that go.
func split(small, kept, reduced *kernels.View) {
	for d := range int(small.Rank) {
		if small.Dims[d] == 1 && kept.Dims[d] != 1 {
			kept.Dims[d] = 1
		} else {
			reduced.Dims[d] = 1
		}
	}
}

// partials returns how many partial results the reduction of a goes through; 1
// where it has many results or few elements.
func partials(a *kernels.Args) int64 {
	if a.Out[0].Len() != 1 {
		return 1
	}
	return max(1, (a.In[0].Len()+partialLen-1)/partialLen)
}

func reduceWorkspace(a *kernels.Args) int64 {
	if n := partials(a); n > 1 {
		return n * 8
	}
	return 0
}

// larger returns the larger of x and y, NaN if one is NaN.
func larger(x, y float64) float64 {
	if y > x || y != y {
		return y
	}
	return x
}

// sumRun adds up n elements, blockLen at a time, so that the rounding error
// grows with the number of blocks and not of elements.
func sumRun[T float](addr uintptr, n, step int64) float64 {
	total := 0.0
	if step == sizeOf[T]() {
		if c := inC[T](n); c != nil {
			return c.foldRun(adding, addr, n, 0)
		}
		for x := dense[T](addr, n); len(x) > 0; {
			k := min(len(x), blockLen)
			total += sumBlock(x[:k])
			x = x[k:]
		}
		return total
	}
	var buf [blockLen]T
	for i := int64(0); i < n; i += blockLen {
		x := buf[:min(n-i, blockLen)]
		for j := range x {
			x[j] = *at[T](addr, i+int64(j), step)
		}
		total += sumBlock(x)
	}
	return total
}

// sumBlock adds up x in four interleaved sums.
func sumBlock[T float](x []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += float64(x[0])
		s1 += float64(x[1])
		s2 += float64(x[2])
		s3 += float64(x[3])
	}
	for _, v := range x {
		s0 += float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

func maxRun[T float](acc float64, addr uintptr, n, step int64) float64 {
	if c := inC[T](n); c != nil && step == sizeOf[T]() {
		return larger(acc, c.foldRun(maximising, addr, n, 0))
	}
	for i := range n {
		acc = larger(acc, float64(*at[T](addr, i, step)))
	}
	return acc
}
