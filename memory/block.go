package memory

import (
	"fmt"
	"unsafe"

	"tarn/cuda"
)

// Handle names a block that Alloc gave out. It is a value without pointers: it
// can be kept, copied and outlive the block, since a handle that went stale is
// recognised. The zero Handle names no block.
type Handle struct {
	table      uint32 // id of the table, unique in the process; from 1
	index      uint32 // record in the table; from 1
	generation uint32 // of the record when the block was given out; from 1
}

// String returns the three parts of h, as messages name it.
func (h Handle) String() string {
	return fmt.Sprintf("block %d.%d#%d", h.table, h.index, h.generation)
}

// Block is what Alloc gives out: Size bytes at Ptr, from now on named by
// Handle. The zero Block has no bytes.
type Block struct {
	Handle
	Ptr  cuda.DevicePtr
	Size int64 // the request rounded up; all of it may be used
}

// state says what a record stands for.
type state uint8

const (
	stateUnused  state = iota // in no segment; the record waits for reuse
	stateFree                 // in a bin
	stateLive                 // a client has it
	stateLeaving              // live, while Free records the events of its uses
	stateParked               // freed; waits for events of other streams
)

func (s state) String() string {
	return [...]string{"unused", "free", "live", "leaving", "parked"}[s]
}

// block is the record of one piece of a segment. It has no pointers, so that
// the Go garbage collector does not look at the tables, and fills one cache
// line, since a walk over a bin touches one record after another.
//
// All fields are guarded by the table's lock.
type block struct {
	ptr        cuda.DevicePtr
	size       int64  // a multiple of minBlockSize, > 0 unless unused
	requested  int64  // what the client asked for; of a free block freedAt
	prev, next uint32 // neighbours by address, 0 at the ends of the segment; next also links unused records
	binPrev    uint32 // neighbours in the bin; 0 at its ends and unless free
	binNext    uint32
	generation uint32 // goes up when a client's handle ends; never 0
	segment    uint32 // index of the table's segment; 0 iff unused
	uses       uint32 // events still waited for; > 0 iff parked
	bin        uint16 // only while free
	state      state
	pool       poolKind
	tag        Tag  // only while live, leaving or parked
	oversize   bool // only while live or leaving: of policy.whole bytes or more
}

// A record is no more than one cache line.
const _ = 64 - unsafe.Sizeof(block{})

// whole reports whether b is all of its segment.
func (b *block) whole() bool { return b.prev|b.next == 0 }

// freedAt is the time on its table's clock at which the last part of b, which
// is free, was given back. Work queued before may still use it.
func (b *block) freedAt() uint64 { return uint64(b.requested) }

func (b *block) setFreedAt(t uint64) { b.requested = int64(t) }

// endGeneration makes all handles of b stale.
func (b *block) endGeneration() {
	if b.generation++; b.generation == 0 {
		b.generation = 1
	}
}

const (
	// chunkLen records are made at a time: 16 KiB, small beside the first
	// segment that they describe.
	chunkLen   = 1 << chunkShift
	chunkShift = 8
)

// records holds a table's blocks in chunks that never move, so that a *block
// stays good while the table grows. Links between blocks are indexes. Record 0
// stands for none and is never handed out.
type records struct {
	chunks []*[chunkLen]block
	unused uint32 // first unused record, linked by next; 0 for none
	fresh  uint32 // records from here on were never used
	inUse  int    // records in some segment
}

// at returns record i, which must have been handed out.
func (r *records) at(i uint32) *block {
	return &r.chunks[i>>chunkShift][i%chunkLen]
}

// has reports whether record i was ever handed out.
func (r *records) has(i uint32) bool { return i != 0 && i < r.fresh }

// get hands out an unused record. Only its generation means anything.
func (r *records) get() (uint32, *block) {
	r.inUse++
	if i := r.unused; i != 0 {
		b := r.at(i)
		r.unused = b.next
		b.next = 0
		return i, b
	}
	if r.fresh == uint32(len(r.chunks)*chunkLen) {
		r.chunks = append(r.chunks, new([chunkLen]block))
	}
	r.fresh = max(r.fresh, 1)
	i := r.fresh
	r.fresh++
	b := r.at(i)
	b.generation = 1
	return i, b
}

// put takes back record i. Its generation stays, so that old handles do too.
func (r *records) put(i uint32) {
	b := r.at(i)
	*b = block{generation: b.generation, next: r.unused}
	r.unused = i
	r.inUse--
}
