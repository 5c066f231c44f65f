package memorytest

// fragmented is the textbook case: 500 MiB are freed beside what lives, then
// 800 are asked for. Warm, all that comes out of a segment of 2000 MiB that was
// used and freed before.
func fragmented(warm bool) *recorder {
	r := new(recorder)
	if warm {
		r.free(r.alloc(2000 * mib))
	}
	a, b, c := r.alloc(800*mib), r.alloc(500*mib), r.alloc(300*mib)
	r.free(b)
	d := r.alloc(800 * mib)
	r.free(a, c, d)
	return r
}

// stress frees one of many live blocks and makes another in its place, over
// and over. Sizes are spread evenly over their logarithm, from 512 bytes to
// 2^maxBits.
func stress(live, maxBits int64, seed uint64) *recorder {
	const swaps = 200_000
	r, random := new(recorder), xorshift(seed)
	size := func() int64 {
		least := int64(1) << (9 + random.below(maxBits-9))
		return least + random.below(least)
	}
	blocks := make([]uint32, live)
	for i := range blocks {
		blocks[i] = r.alloc(size())
	}
	for range swaps {
		i := random.below(live)
		r.free(blocks[i])
		blocks[i] = r.alloc(size())
	}
	r.free(blocks...)
	return r
}

// hitSizes are of both pools and in no order.
var hitSizes = []int64{
	512, 4 * kib, 64 * kib, 1 * mib, 2 * mib, 4 * mib, 8 * mib, 16 * mib,
	100 * kib, 200 * kib, 300 * kib, 3 * mib, 5 * mib, 7 * mib, 9 * mib, 12 * mib,
}

// hits frees each block at once, beside 64 that live on. The sizes take turns.
func hits(sizes []int64) *recorder {
	const lasting, pairs = 64, 100_000
	r := new(recorder)
	for i := range lasting {
		r.alloc(sizes[i%len(sizes)])
	}
	r.startRun()
	for i := range pairs {
		r.free(r.alloc(sizes[i%len(sizes)]))
	}
	return r
}
