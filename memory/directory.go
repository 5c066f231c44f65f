package memory

import (
	"math/bits"
	"sync/atomic"

	"tarn/cuda"
)

// directory finds an allocator's tables with no lock. It is immutable: a new
// table makes a new directory. See doc.go.
type directory struct {
	owner    *Pool    // whose tables are found by stream; nil for those of no pool
	tables   []*table // in order of id, the order of their locks
	byStream []*table // open addressing; at most half full, so that a search ends
	byID     []*table // the same
}

// noTables is the directory of an allocator that was closed.
var noTables = newDirectory(nil, nil)

// newDirectory returns a directory that finds by stream the tables of a private
// pool, or with nil those of none.
func newDirectory(tables []*table, owner *Pool) *directory {
	size := 2 << bits.Len(uint(len(tables)))
	d := &directory{owner: owner, tables: tables, byStream: make([]*table, size), byID: make([]*table, size)}
	for _, t := range tables {
		if t.pool == owner && !t.retired.Load() {
			put(d.byStream, hashStream(t.stream), t)
		}
		put(d.byID, uint(t.id), t)
	}
	return d
}

// with returns a directory that has t too.
func (d *directory) with(t *table) *directory {
	return newDirectory(append(d.tables[:len(d.tables):len(d.tables)], t), d.owner)
}

// ofStream returns the table of a stream, nil if it has none yet.
func (d *directory) ofStream(s cuda.Stream) *table {
	mask := uint(len(d.byStream) - 1)
	for i := hashStream(s); ; i++ {
		if t := d.byStream[i&mask]; t == nil || t.stream == s {
			return t
		}
	}
}

// ofID returns the table of an id, nil if it is not of this allocator.
func (d *directory) ofID(id uint32) *table {
	mask := uint(len(d.byID) - 1)
	for i := uint(id); ; i++ {
		if t := d.byID[i&mask]; t == nil || t.id == id {
			return t
		}
	}
}

func put(slots []*table, hash uint, t *table) {
	mask := uint(len(slots) - 1)
	for i := hash; ; i++ {
		if slots[i&mask] == nil {
			slots[i&mask] = t
			return
		}
	}
}

// hashStream spreads handles that are addresses of records of one size.
func hashStream(s cuda.Stream) uint {
	return uint(uint64(s) * 0x9E3779B97F4A7C15 >> 40)
}

// tableIDs counts the tables of the process. Ids are not reused, so that the
// handles of one allocator never fit another.
var tableIDs atomic.Uint32
