// Package pinned is a caching allocator for pinned (page-locked) host memory,
// which copies between host and device need to run beside other work. Locking
// pages is slow and stops the device, so what is freed is kept.
//
// # Vocabulary
//
//	segment   a range that one AllocHost returned, cut into blocks of one size
//	block     what is handed out; a Handle names it
//	live      a client has it
//	parked    freed, but work on a stream may still use it
//	active    live or parked
//	idle      a segment with no active block: it can be given back
//	cached    free bytes: those of idle segments, and between active blocks
//	reserved  held from the source
//
// # Sizes
//
// A request of n bytes gets a block of at most n + max(n/8, 4 KiB): that is
// the bound, and no block outside it is used, however much of it is cached.
//
// Up to 256 KiB sizes are rounded up to one of 32 classes, eight for every
// power of two, and the blocks of a class lie in segments of their own of up
// to 1 MiB. One call of the source serves 4 to 256 blocks, blocks are neither
// split nor joined, and a free block of a class fits every request of it. The
// price is at most one partly used segment a class, 32 MiB in all, as long as
// blocks are not freed in an order that leaves many segments partly used.
//
// Larger requests are rounded up to 4 KiB and have a segment each, since one
// call for 256 KiB and more is cheap by the byte, and sharing would let one
// block hold back the rest. The smallest cached segment inside the bound
// serves a request; without one, the exact size is asked of the source.
//
// # Alloc
//
//  1. Take a cached block. That is all a hit does; no event is looked at.
//  2. Look at the events of parked blocks, and search.
//  3. Take a segment from the source.
//  4. Give idle segments back, least recently used first: as many as the limit
//     asks for, or all if the source is full. Search, take a segment; if it is
//     too large still, one of a single block.
//  5. Wait for the oldest event, or for what another goroutine is taking or
//     giving back, and go on at 3. Nothing to wait for: *OutOfMemoryError.
//
// # Locks
//
// One mutex guards all. It is not held over a call of the source; what such a
// call is about (pledged, returning, leaving, busy) is set aside first, so that
// Check holds at any moment.
package pinned
