// Package memory is a caching allocator for device memory. It takes segments
// from an [Upstream] (a GPU, the host), cuts them into blocks, and keeps what
// is freed for the next request, since calls upstream are slow and may stop
// the device. The policy is PyTorch's; see policy.go for its numbers.
//
// # Vocabulary
//
//	request   what a caller asks for, before rounding
//	block     a piece of a segment, the unit that is handed out; a Handle names it
//	segment   a range that one call upstream returned; blocks tile it
//	pool      small (blocks up to 1 MiB in segments of 2 MiB) or large
//	table     the segments and blocks of one stream
//	free      in the cache; a neighbour of the same segment that is free too is joined
//	live      a client has it: allocated
//	parked    freed, but work on other streams may still use it: pending
//	active    live or parked
//	reserved  held from the upstream, in use or not
//	pinned    free bytes in a segment with a block in use (PyTorch: inactive split)
//	abandoned what the Go GC found dead before anybody freed it
//
// To free gives a block to the cache; to release gives a segment upstream.
//
// # Structures
//
//	Allocator  the device: reserved bytes, limit, pacer, directory   allocator.go
//	directory  finds a table by stream or id, without a lock          directory.go
//	table      blocks of a stream: take, give, split, coalesce        table.go
//	records    the block records, in chunks that never move           block.go
//	bins       free blocks by size, two levels with bitmaps (TLSF)    bins.go
//	useQueue   events that parked blocks wait for, by stream          pending.go
//	abandoned  the queue that cleanups of the Go runtime fill         abandon.go
//	pacer      decides when the Go GC runs                            garbage.go
//	climb      one request on its way up the ladder                   ladder.go
//	books      counters of a table, summed up by Stats                counter.go, stats.go
//	sums       peaks of what several tables count together            peaks.go
//	checker    the walk that says what must hold                      check.go
//
// Records have no pointers and link each other by index, so the Go garbage
// collector never looks at them. A handle is {table, index, generation}: Free
// finds the record without a map, and a generation that has moved on shows a
// stale handle.
//
// # Alloc
//
//  1. Refuse what no device could serve; round up to 512 bytes; choose the pool.
//  2. Free what was abandoned, if anything was.
//  3. Find the stream's table and lock it. If blocks are parked, look at their
//     events, with the lock dropped.
//  4. Find the smallest bin with a block that is large enough, and in it the
//     best of the first few (good fit). None: climb the ladder.
//  5. Split off the rest if the pool's rule says so. Count. Unlock.
//
// # Free
//
//  1. Find the table by the handle's id, lock it, compare the generation.
//  2. If other streams use the block: with no lock held, record an event on
//     each, then park the block. It goes on at 3 when the last event is done.
//  3. Join with free neighbours in the segment; put the result into its bin.
//     Count. Unlock.
//
// # The ladder
//
// What a request that misses tries, in order. After each rung the cache is
// searched again, since the lock was dropped.
//
//  1. drain: free the blocks of finished events and of dead owners.
//  2. grow: take a segment upstream. If that would take reserved past L + hard,
//     wait for a Go GC first, and search. If it would still go past the peak
//     of L + hard, release that much of the cache.
//  3. release: give back all cached segments, of all streams; grow, by the
//     smallest segment that will do if one of the usual size does not fit.
//  4. wait: for the events of all parked blocks; search, release, grow.
//  5. collect: wait for a Go GC; search, release, grow.
//  6. *OutOfMemoryError, which says what each rung gained.
//
// # Garbage
//
// The Go GC does not see device memory, so the allocator paces it. L is what
// was allocated after the last GC that it started. The soft budget is
// max(64 MiB, sqrt(64 MiB × L)), counted in bytes allocated since and not
// freed explicitly; past it a GC starts beside the work. The hard budget is
// twice the soft one; a request that would take reserved past L + hard waits
// for a GC. A request that the cache can serve never waits. Hence
//
//	reserved <= peak live + hard + one segment
//
// whatever a program drops without a Free, up to what fragmentation pins
// (TestGarbageIsBounded, TestIdleShapesGoBack).
//
// # Locks
//
// The device lock, then the locks of tables in order of their ids. The locks
// of the abandoned queue and of the GC's runner are held with no other. No call
// upstream, no Go GC and no user's function runs while a lock is held; what
// such a call needs is set aside under the lock first (pledged, returning,
// leaving, busy), so that the books are right at any moment
// (TestNoLockIsHeldUpstream).
package memory
