// Package memory is a caching allocator for device memory. It takes segments
// from an [Upstream] (a GPU, the host), cuts them into blocks, and keeps what
// is freed for the next request, since calls upstream are slow and may stop
// the device. The sizes, the pools and the settings are PyTorch's; see policy.go.
//
// # Vocabulary
//
//	request   what a caller asks for, before rounding
//	block     a piece of a segment, the unit that is handed out; a Handle names it
//	segment   a range that blocks tile: what one call upstream returned, or a run
//	run       pages side by side that belong to one table
//	page      what virtual memory is mapped in, 2 MiB or the driver's more
//	arena     the address range of a pool, in pages
//	pool      small (blocks up to 1 MiB in segments of 2 MiB) or large
//	table     the segments and blocks of one stream
//	free      in the cache; a neighbour of the same segment that is free too is joined
//	live      a client has it: allocated
//	parked    freed, but work on other streams may still use it: pending
//	active    live or parked
//	reserved  held from the upstream, in use or not
//	pinned    free bytes in a page, or an upstream's range, with a block in use
//	abandoned what the Go GC found dead before anybody freed it
//
// To free gives a block to the cache; to release gives a segment upstream.
//
// # Structures
//
//	Allocator  the device: reserved bytes, limit, pacer, directory   allocator.go
//	directory  finds a table by stream or id, without a lock          directory.go
//	hooks      functions of the user's                                hooks.go
//	Pool       tables that share memory with nobody else              pool.go, capture.go
//	policy     what the settings come to; a request                   policy.go, settings*.go
//	table      blocks of a stream: take, give, split, coalesce        table.go
//	records    the block records, in chunks that never move           block.go
//	bins       free blocks by size, two levels with bitmaps (TLSF)    bins.go
//	useQueue   events that parked blocks wait for, by stream          pending.go
//	abandoned  the queue that cleanups of the Go runtime fill         abandon.go
//	arena      pages: whose they are, what is mapped                  arena.go
//	run        pages of a table: join, cut                            run.go
//	ordered    requests that the device's own pool serves             ordered.go
//	idle       up to which free a stream's work is known to be done   idle.go
//	survey     finds the best window of pages for a request           plan.go
//	haul       brings the pages of a window together                  haul.go, paged.go
//	pacer      decides when the Go GC runs                            garbage.go
//	reclaim    gives back what was not used of late                   reclaim.go
//	climb      one request on its way up the ladder                   ladder.go
//	books      counters of a table, summed up by Stats                counter.go, stats.go
//	sums       peaks of what several tables count together            peaks.go
//	checker    the walk that says what must hold                      check.go
//	draft      a snapshot: all segments and blocks, as one moment     snapshot.go, snapshot_draft.go
//	history    the latest events, in a ring                           history.go
//	notes      what a history knows of a table's blocks               notes.go
//	stacks     who called Alloc, each stack once                      stacks.go
//	tally      who owns how much                                      owners.go
//	Neighbours who else uses the device                               neighbours.go
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
// # Pages
//
// Where the device has virtual memory, a segment is a run of pages, and pages
// without a live byte go where they are needed. For a request that no free
// block serves, a survey looks at the pool's arena for a window: pages that are
// free, in whoever's table, or have nothing mapped, with the requester's own
// free bytes at the edges. The best window misses the fewest pages, then lies
// in the tightest gap.
//
// Free pages of another stream change hands where they lie. Work that was
// queued on it before they were freed may still run; see idle.go for how that
// is known, and follow for what is done if not: the stream that takes them
// waits on the device for the other one. No call maps anything, and the host
// does not wait.
//
// Missing pages get new memory, or where that is short the memory of free
// pages elsewhere: waited for, unmapped, mapped in the window. So whole free
// pages serve a request wherever they lie. What cannot be used is free bytes
// in pages with a live one: pinned.
//
// # The ladder
//
// What a request that misses tries, in order. After each rung the cache is
// searched again, since the lock was dropped.
//
//  1. drain: free the blocks of finished events and of dead owners.
//  2. reuse: take idle memory of other streams where it lies: a window with
//     nothing missing, or a whole free segment.
//  3. grow: take the missing pages, or a segment, upstream. Past GCThreshold
//     segments that were not used of late go back first. If it would take
//     reserved past L + hard, wait for a Go GC first, and search. If it would
//     still go past the peak of the live bytes by an eighth, move idle pages;
//     by the hard budget, busy ones too, or release that much of the cached
//     segments.
//  4. follow: as reuse, with memory whose last work is not done.
//  5. remap: move free pages into the window.
//  6. release: give back all cached segments, of all streams; grow, by the
//     smallest segment that will do if one of the usual size does not fit.
//  7. wait: for the events of all parked blocks; search, then as 5 or 6.
//  8. collect: wait for a Go GC; search, then as 5 or 6.
//  9. hooks: call the user's functions (OnShortage); search, then as 5 or 6.
//  10. *OutOfMemoryError, which says what each rung gained.
//
// # Private pools
//
// A [Pool] has tables of its own, one a stream, which share memory with each
// other and with nobody else: nothing is taken over, moved or given back between
// them and the rest while it is open. Its requests may have the cache of the rest
// given back upstream, and it may lend free blocks to requests that would fail.
// While a stream is captured into a graph, requests on it only take new memory
// (grow), and frees that have to wait for it are kept until the end: capture.go.
// A pool that was captured from keeps all its memory where it is, free or not,
// until it is closed.
//
// # Garbage
//
// The Go GC does not see device memory, so the allocator paces it. L is the most
// that was allocated after a GC that it started, l that after the last one. The
// soft budget is max(64 MiB, sqrt(64 MiB × l)), counted in bytes allocated since
// and not freed explicitly; past it a GC starts beside the work. The hard budget
// is twice the soft one; a request that would take reserved past L + hard waits
// for a GC. A request that the cache can serve never waits. Hence
//
//	reserved <= peak live + hard + one segment
//
// whatever a program drops without a Free, up to what fragmentation pins and what
// graphs keep free (TestGarbageIsBounded, TestIdleShapesGoBack,
// TestMemoryOfGraphsIsNoExcess).
//
// # Locks
//
// The device lock, then the locks of tables in order of their ids, then that of
// the history's ring: an event is noted under the lock of the table that it
// changes, so that the events at one address are in order. The locks of the
// abandoned queue, of the table of stacks and of the GC's runner are held with
// no other. No call upstream, no Go GC and no user's function runs while a lock
// is held; what such a call needs is set aside under the lock first (pledged,
// returning, leaving, busy), so that the books are right at any moment
// (TestNoLockIsHeldUpstream).
package memory
