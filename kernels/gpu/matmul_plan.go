package gpu

import "sync/atomic"

// matmulTile is a kernel that multiplies matrices: one block makes m by n
// elements of the output.
type matmulTile struct {
	kernel  kernel
	m, n    int64
	threads uint32
	wide    bool // it loads 16 bytes at a time, which not all operands allow

	// What the choice goes by: the share of the arithmetic that blocks reach
	// when they fill a multiprocessor, and how many of them that takes.
	speed float64
	full  int64
}

// matmulTiles are those for a dtype. The larger a tile is, the fewer bytes it
// loads for what it multiplies, and the fewer blocks there are.
type matmulTiles struct {
	list []matmulTile
	// known are cuts that have been thought about: a step of training asks for
	// the same ones all the time, and thinking takes as long as a launch.
	known [256]atomic.Pointer[matmulCut]
}

const (
	// matmulStep is how much of K a kernel takes at once, at most: what parts
	// of K are multiples of.
	matmulStep = 16
	// matmulMaxPart keeps K of a part in 31 bits.
	matmulMaxPart = 1 << 30
	// matmulSMs is the device that K is cut for, whichever runs it: one of
	// middling size.
	matmulSMs = 96
)

// What the plan counts with, in multiplications of a multiprocessor, which
// does about 100 a clock.
const (
	matmulFill   = 64      // steps of K that a block takes to begin and to end
	matmulPart   = 40      // to write an element of one part and to read it again
	matmulGather = 300_000 // to launch the kernel that adds the parts up
)

// matmulParts are into how many parts K may be cut for speed.
var matmulParts = [...]int64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

// matmulShape is batch products of m by n sums over k.
type matmulShape struct{ m, n, k, batch int64 }

// matmulCut says into how many parts K is cut and how much of it each has, but
// for the last one. The bits of the result depend on this and on nothing else,
// so it follows from the shape alone.
type matmulCut struct {
	shape       matmulShape
	parts, part int64
}

// cut returns how K is cut.
func (ts *matmulTiles) cut(s matmulShape) matmulCut {
	hash := uint64(s.m)*0x9e3779b97f4a7c15 ^ uint64(s.n)*0xc2b2ae3d27d4eb4f ^ uint64(s.k)*0x165667b19e3779f9 ^ uint64(s.batch)*0x27d4eb2f165667c5
	known := &ts.known[hash>>56]
	if c := known.Load(); c != nil && c.shape == s {
		return *c
	}
	c := ts.newCut(s)
	known.Store(&c)
	return c
}

func (ts *matmulTiles) newCut(s matmulShape) matmulCut {
	parts := int64(1)
	if least := ceil(s.k, matmulMaxPart); least > 1 {
		parts = least
	} else if s.k >= 8*matmulStep && s.m*s.n <= 1<<22 && ts.list[0].blocks(s, 1) < 2*matmulSMs {
		parts = ts.quickest(s)
	}
	parts, part := even(s.k, parts)
	return matmulCut{s, parts, part}
}

// even returns about as many parts of k as asked for, each but the last one a
// multiple of matmulStep.
func even(k, parts int64) (in, part int64) {
	part = max(ceil(ceil(k, parts), matmulStep), 1) * matmulStep
	return max(ceil(k, part), 1), part
}

// quickest returns into how many parts K is best cut.
func (ts *matmulTiles) quickest(s matmulShape) int64 {
	quickest, best := int64(1), 0.0
	for _, parts := range matmulParts {
		if parts > 1 && s.k < parts*2*matmulStep {
			break
		}
		parts, _ = even(s.k, parts)
		for i := range ts.list {
			if c := ts.list[i].cost(s, parts, matmulSMs); best == 0 || c < best {
				quickest, best = parts, c
			}
		}
	}
	return quickest
}

// choose returns the tile for a device of sms multiprocessors, of equals the
// one that makes more blocks.
func (ts *matmulTiles) choose(s matmulShape, parts, sms int64, wide bool) *matmulTile {
	var tile *matmulTile
	best := 0.0
	for i := range ts.list {
		t := &ts.list[i]
		if t.wide && !wide {
			continue
		}
		if c := t.cost(s, parts, sms); tile == nil || c <= best {
			tile, best = t, c
		}
	}
	return tile
}

// cost is about how long the product takes.
func (t *matmulTile) cost(s matmulShape, parts, sms int64) float64 {
	inOne := max(ceil(t.blocks(s, parts), sms), t.full) // fewer take as long
	c := float64(inOne*t.m*t.n) * float64(ceil(s.k, parts)+matmulFill) / t.speed
	if parts > 1 {
		c += float64(parts*s.m*s.n*s.batch)*matmulPart/float64(sms) + matmulGather
	}
	return c
}

func (t *matmulTile) blocks(s matmulShape, parts int64) int64 {
	return ceil(s.m, t.m) * ceil(s.n, t.n) * s.batch * parts
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }
