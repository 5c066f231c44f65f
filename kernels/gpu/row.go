package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

// How many threads share a row; row.cuh has the same numbers.
const (
	byWarp = iota
	byBlock
	byThread
)

// shareRow returns how rows of n elements are shared out.
func shareRow(n int64) uint32 {
	if n >= longRow {
		return byBlock
	}
	return byWarp
}

// rowGrid is the grid for so many rows.
func (k *Kernels) rowGrid(rows int64, together uint32) cuda.Grid {
	switch together {
	case byWarp:
		rows = (rows + blockWarps - 1) / blockWarps
	case byThread:
		rows = (rows + blockThreads - 1) / blockThreads
	}
	return k.grid(max(rows, 1), warp, blockWarps)
}

// passWideDivider adds a struct Divider of u64.
func passWideDivider(l *cuda.Launch, n int64) {
	magic, shift := divider(uint64(max(n, 1)), 64)
	l.Int64(max(n, 1)).Uint64(magic).Uint64(shift)
}

// passAddresses adds the addresses of the views that there are, up to n, and
// nulls for the others.
func passAddresses(l *cuda.Launch, n int, views []kernels.View) {
	for i := range n {
		if i < len(views) {
			l.Ptr(cuda.DevicePtr(views[i].Ptr))
		} else {
			l.Ptr(0)
		}
	}
}

// passStrides adds the first n strides of v; dims of 1 have the stride 0.
func passStrides(l *cuda.Launch, n int, v *kernels.View) {
	for d := range n {
		if d < int(v.Rank) && v.Dims[d] > 1 {
			l.Int64(v.Strides[d])
		} else {
			l.Int64(0)
		}
	}
}

// passVectors adds the strides of up to n views of rank 1.
func passVectors(l *cuda.Launch, n int, views []kernels.View) {
	for i := range n {
		if i < len(views) {
			passStrides(l, 1, &views[i])
		} else {
			l.Int64(0)
		}
	}
}
