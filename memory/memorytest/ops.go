package memorytest

import (
	"fmt"
	"math/rand/v2"

	"tarn/cuda"
)

// OpKind is what an [Op] does.
type OpKind uint8

// The kinds of ops.
const (
	OpAlloc      OpKind = iota // a block of Size bytes on Stream
	OpFree                     // block Pick, used on the streams that read it
	OpRead                     // Stream waits for the owner of block Pick and reads it
	OpComplete                 // Stream runs to its end; the host does not know
	OpAbandon                  // block Pick is left to the collector
	OpStale                    // a handle that ended is freed again, which must be refused
	OpEmptyCache               // cached segments go back, those of Pool or of none
	OpClosePool                // Pool ends, and another begins
)

func (k OpKind) String() string {
	return [...]string{"alloc", "free", "read", "complete", "abandon", "stale", "empty cache", "close pool"}[k]
}

// Op is one step of a random test. Every list of ops can be played: what an op
// needs and is not there makes it do nothing.
type Op struct {
	Kind   OpKind
	Size   int64       // of an alloc
	Stream cuda.Stream // 0 to 3
	Pool   int         // private pool, from 1; 0 for none
	Pick   int         // counts through what is live, or through handles that ended
}

func (op Op) String() string {
	switch op.Kind {
	case OpAlloc:
		return fmt.Sprintf("alloc %d s%d p%d", op.Size, op.Stream, op.Pool)
	case OpComplete:
		return fmt.Sprintf("complete s%d", op.Stream)
	case OpRead:
		return fmt.Sprintf("read %d s%d", op.Pick, op.Stream)
	case OpEmptyCache, OpClosePool:
		return fmt.Sprintf("%v p%d", op.Kind, op.Pool)
	}
	return fmt.Sprintf("%v %d", op.Kind, op.Pick)
}

// opBytes encode one op: kind, stream and pool, size (two) and pick.
const opBytes = 5

// weights of the kinds; they sum to 256. Allocs are a little more frequent
// than what ends a block, so that the number of live ones drifts up until the
// device is full.
var weights = [...]int{OpAlloc: 100, OpFree: 85, OpRead: 32, OpComplete: 16, OpAbandon: 10, OpStale: 5, OpEmptyCache: 5, OpClosePool: 3}

// edges are the sizes where a policy like PyTorch's changes its mind.
var edges = [...]int64{
	0, 1, 511, 512, 513, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2 << 20, 2<<20 + 1,
	10<<20 - 512, 10<<20 - 1, 10 << 20, 10<<20 + 1, 20 << 20, 20<<20 + 1,
}

// Decode turns any bytes into ops, so that a fuzzer can make them up and a
// failing list is a short string of bytes.
func Decode(data []byte) []Op {
	ops := make([]Op, 0, len(data)/opBytes)
	for ; len(data) >= opBytes; data = data[opBytes:] {
		ops = append(ops, Op{
			Kind:   decodeKind(int(data[0])),
			Stream: cuda.Stream(data[1] % 4),
			Pool:   decodePool(data[1] / 4),
			Size:   decodeSize(data[2], data[3]),
			Pick:   int(data[4]),
		})
	}
	return ops
}

func decodeKind(b int) OpKind {
	for kind, w := range weights {
		if b < w {
			return OpKind(kind)
		}
		b -= w
	}
	panic("memorytest: the weights of the ops do not sum to 256")
}

// decodePool has a quarter of the ops in private pools.
func decodePool(b byte) int {
	if b < 48 {
		return 0
	}
	return 1 + int(b)%numPools
}

// decodeSize spreads sizes evenly over their logarithm, up to 16 MiB, but for
// the edges, and for a crowd of small ones that differ by less than a granule
// or by a few.
func decodeSize(mantissa, exponent byte) int64 {
	switch {
	case exponent >= 0xF0:
		return edges[exponent&0xF]
	case exponent >= 0xC0:
		return int64(mantissa) * granule / 8
	}
	return (int64(mantissa) + 1) << (exponent % 17)
}

// Generate returns n random ops.
func Generate(rng *rand.Rand, n int) []Op {
	data := make([]byte, n*opBytes)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return Decode(data)
}
