package memory

import (
	"fmt"
	"strings"

	"tarn/cuda"
)

// OutOfMemoryError says that a request could not be served, with all that was
// known when the last rung of the ladder had failed. It wraps the upstream's
// error, if it was the upstream that refused.
type OutOfMemoryError struct {
	Device      string
	Stream      cuda.Stream
	Pool        string // "small" or "large"
	PrivatePool string // the name of the private pool that was asked, if it was one

	Requested int64 // bytes that the caller asked for
	Rounded   int64 // bytes that a block for it has
	Asked     int64 // bytes of the segment that was asked of the upstream last

	DeviceTotal int64 // 0 if the upstream could not say
	DeviceFree  int64
	Limit       int64 // 0: none

	Reserved    int64 // bytes held from the upstream
	Allocated   int64 // bytes in blocks that clients have
	Pending     int64 // bytes in blocks that wait for other streams
	Pages       bool  // there is virtual memory: free pages go where they are needed
	FreePages   int64 // bytes in free pages, of whatever stream
	Pinned      int64 // free bytes in pages, or in segments, with a block in use
	PrivateFree int64 // free bytes that belong to other private pools
	OtherFree   int64 // free bytes that belong to other streams or to the other pool, or to private pools
	LargestFree int64 // largest free block of this stream and pool

	// Others are the other processes on the device, largest first: none where the
	// upstream cannot tell. Besides is what this one has there beside Reserved, in
	// contexts, code and other libraries, in bytes; -1 where it is not known.
	Others  []Process
	Besides int64

	Owners []Owner // who has what is allocated: the five largest, largest first

	Rungs []RungReport // none for a request that was refused at once
	Cause Cause
	Err   error
}

// Cause is why a request did not fit.
type Cause uint8

// The causes. An error has the first that holds.
const (
	// CauseTooLarge: an empty device could not serve the request.
	CauseTooLarge Cause = iota
	// CauseOthers: blocks in use leave less than the request, and other processes
	// have what is missing.
	CauseOthers
	// CauseInUse: blocks in use leave less than the request.
	CauseInUse
	// CauseSegment: what the limit or the device has left is less than the
	// smallest segment that holds the request.
	CauseSegment
	// CauseElsewhere: enough bytes are free, but of other streams or of the
	// other pool, in segments that are in use.
	CauseElsewhere
	// CausePrivate: enough bytes are free, but in private pools.
	CausePrivate
	// CauseFragmented: enough bytes are free, but in pieces.
	CauseFragmented
)

var causes = [...]string{"too large", "others", "in use", "segment", "elsewhere", "private", "fragmented"}

// String returns the cause in a word or two.
func (c Cause) String() string {
	if int(c) >= len(causes) {
		return fmt.Sprintf("Cause(%d)", uint8(c))
	}
	return causes[c]
}

// Unwrap returns the error of the upstream, or nil.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

// Unallocated returns the bytes that are reserved and not allocated.
func (e *OutOfMemoryError) Unallocated() int64 { return e.Reserved - e.Allocated }

// Room returns the bytes that could still be taken upstream, so far as is
// known.
func (e *OutOfMemoryError) Room() int64 {
	room := int64(maxRequest)
	if e.DeviceTotal > 0 {
		room = e.DeviceFree
	}
	if e.Limit > 0 {
		room = min(room, e.Limit-e.Reserved)
	}
	return max(room, 0)
}

// missing returns the bytes that would serve the request if they were free.
func (e *OutOfMemoryError) missing() int64 {
	return e.Rounded - e.Unallocated() + e.Pending - e.Room()
}

// limited reports whether the limit is what ends the room, not the device.
func (e *OutOfMemoryError) limited() bool {
	return e.Limit > 0 && (e.DeviceTotal == 0 || e.Limit-e.Reserved <= e.DeviceFree)
}

// heldByOthers returns the bytes that other processes are known to have. Where
// this one was not found, it may be among them.
func (e *OutOfMemoryError) heldByOthers() int64 {
	held := sumOf(e.Others)
	if e.Besides < 0 {
		held = max(held-e.Reserved, 0)
	}
	return held
}

// Error begins as PyTorch's message does and goes on with what that leaves
// out.
func (e *OutOfMemoryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s out of memory. Tried to allocate %s. ", e.Device, formatSize(e.Requested))
	if e.DeviceTotal > 0 {
		fmt.Fprintf(&b, "%s has a total capacity of %s of which %s is free. ", e.Device, formatSize(e.DeviceTotal), formatSize(e.DeviceFree))
	}
	if e.Limit > 0 {
		fmt.Fprintf(&b, "%s allowed; ", formatSize(e.Limit))
	}
	fmt.Fprintf(&b, "Of the allocated memory %s is allocated by Tarn, and %s is reserved by Tarn but unallocated.\n",
		formatSize(e.Allocated), formatSize(e.Unallocated()))
	what, private := "a segment", ""
	if e.Pages {
		what = "pages"
	}
	if e.PrivatePool != "" {
		private = fmt.Sprintf(" in private pool %q", e.PrivatePool)
	}
	fmt.Fprintf(&b, "  request: %d bytes, rounded to %d, ", e.Requested, e.Rounded)
	if e.Asked > 0 { // one that is larger than the device is never asked for
		fmt.Fprintf(&b, "as %s of %s, ", what, formatSize(e.Asked))
	}
	fmt.Fprintf(&b, "from the %s pool of stream %#x%s\n", e.Pool, uintptr(e.Stream), private)
	fmt.Fprintf(&b, "  free:    the largest block is %s; ", formatSize(e.LargestFree))
	if e.Pages {
		fmt.Fprintf(&b, "%s in whole pages, ", formatSize(e.FreePages))
	}
	fmt.Fprintf(&b, "%s pinned by blocks in use, ", formatSize(e.Pinned))
	if e.PrivateFree > 0 {
		fmt.Fprintf(&b, "%s in private pools, ", formatSize(e.PrivateFree))
	}
	if !e.Pages {
		fmt.Fprintf(&b, "%s of other streams or the other pool, ", formatSize(e.OtherFree))
	}
	fmt.Fprintf(&b, "%s pending\n", formatSize(e.Pending))
	for i, o := range e.Owners {
		fmt.Fprintf(&b, "  %-7s  %v\n", [...]string{"owners:", ""}[min(i, 1)], o)
	}
	if e.Cause == CauseOthers {
		b.WriteString(e.neighbourhood())
	}
	b.WriteString("  tried:   ")
	if len(e.Rungs) == 0 {
		b.WriteString("nothing, as throw_on_cudamalloc_oom asks for")
	}
	first := true
	for _, r := range e.Rungs {
		if r.Skipped && r.Rung != RungCollect {
			continue // it has no means here
		}
		if !first {
			b.WriteString(", ")
		}
		first = false
		b.WriteString(r.Rung.String())
		if r.Skipped {
			b.WriteString(" (skipped: nothing was allocated since the last GC)")
		} else if r.Gained > 0 {
			fmt.Fprintf(&b, " (%s)", formatSize(r.Gained))
		}
	}
	cause, help := e.explain()
	fmt.Fprintf(&b, "\n  cause:   %s\n  help:    %s", cause, help)
	return b.String()
}

// neighbourhood is a line about the largest of the other processes.
func (e *OutOfMemoryError) neighbourhood() string {
	var names []string
	for _, h := range largest(e.Others, 3) {
		names = append(names, h.name+" with "+h.bytes)
	}
	own := "this process may be among them"
	if e.Besides >= 0 {
		own = "this process has " + formatSize(e.Besides) + " beside Tarn's"
	}
	return fmt.Sprintf("  others:  %s; %s\n", strings.Join(names, ", "), own)
}

// explain says in plain words why the request failed and what would help.
func (e *OutOfMemoryError) explain() (cause, help string) {
	bound := "device"
	if e.limited() {
		bound = "limit"
	}
	switch e.Cause {
	case CauseTooLarge:
		return fmt.Sprintf("the request alone is larger than the %s.", bound),
			"Make the request smaller; nothing that could be freed would serve it."
	case CauseOthers:
		return fmt.Sprintf("the blocks in use and the request together exceed the device by %s, and other processes hold %s.",
				formatSize(e.missing()), formatSize(e.heldByOthers())),
			"End other processes on the device, or release tensors and use a smaller batch."
	case CauseInUse:
		missing := e.missing()
		cause = fmt.Sprintf("the blocks in use and the request together exceed the %s by %s.", bound, formatSize(missing))
		if bound == "device" && e.Besides >= missing {
			return cause, fmt.Sprintf("This process holds %s on the device beside Tarn's, in contexts, code and other libraries; end their use, or release tensors and use a smaller batch.", formatSize(e.Besides))
		}
		if others := e.DeviceTotal - e.DeviceFree - e.Reserved; bound == "device" && others >= missing {
			return cause, fmt.Sprintf("Other users of the device hold %s; end them, or release tensors and use a smaller batch.", formatSize(others))
		}
		if bound == "limit" {
			return cause, "Release tensors that are no longer needed, use a smaller batch, or raise the limit."
		}
		return cause, "Release tensors that are no longer needed (Release, scopes), or use a smaller batch."
	case CauseElsewhere:
		return fmt.Sprintf("%s is free but belongs to other streams or the other pool, in segments with blocks in use.", formatSize(e.OtherFree)),
			"Release the blocks that hold those segments, raise the limit, or do the work on fewer streams."
	case CauseSegment:
		cause = fmt.Sprintf("a segment of %s is the least that can be taken, and the %s has %s left.", formatSize(e.Asked), bound, formatSize(e.Room()))
		if e.Allocated == 0 {
			return cause, "Nothing is allocated that could be released: the " + bound + " is too small for this."
		}
		if bound == "limit" {
			return cause, "Raise the limit, or release tensors that are no longer needed."
		}
		return cause, "Release tensors that are no longer needed, or end other users of the device."
	case CausePrivate:
		return fmt.Sprintf("%s is free but belongs to private pools.", formatSize(e.PrivateFree)),
			"Close graphs and pools that are done with, empty their caches, or let them lend (UseOnOOM)."
	default:
		if e.Pages {
			return fmt.Sprintf("enough is free, but only %s of it in whole pages: the rest lies beside blocks in use.", formatSize(e.FreePages)),
				"Allocate long-lived tensors first, or release the small ones among them: a page that is all free can go anywhere."
		}
		return fmt.Sprintf("enough is free, but in pieces: the largest free block is %s.", formatSize(e.LargestFree)),
			"Allocate long-lived tensors first, release tensors before larger ones are made, or empty the cache between phases."
	}
}

// outOfMemory makes the error of a climb that has tried the rungs below top.
func (c *climb) outOfMemory(top Rung) *OutOfMemoryError {
	a := c.a
	deviceFree, deviceTotal, err := a.up.MemInfo()
	if err != nil {
		deviceFree, deviceTotal = 0, 0
	}
	var processes []Process
	if top > 0 {
		processes = a.processes()
	}
	tables := a.lockAll()
	s := a.stats(tables)
	bins := &c.t.bins[c.r.pool]
	largest := bins.largest(&c.t.records)
	var own int64
	bins.each(&c.t.records, func(_ uint32, b *block) { own += b.size })
	var private int64 // free in other private pools
	for _, t := range tables {
		if p := t.group(); p != nil && p != c.t.group() {
			stat := t.stat()
			private += stat.Reserved - stat.Allocated - stat.Pending
		}
	}
	owners := a.owners(tables)
	if h := a.history.Load(); h != nil {
		h.record(event{action: ActionOutOfMemory, addr: cuda.DevicePtr(deviceFree), size: c.r.rounded, stream: c.t.stream, tag: c.r.tag, stack: c.r.stack})
	}
	a.unlockAll(tables)

	e := &OutOfMemoryError{
		Device: a.props.Name, Stream: c.t.stream, Pool: c.r.pool.String(),
		Requested: c.r.size, Rounded: c.r.rounded, Asked: c.asked,
		DeviceTotal: deviceTotal, DeviceFree: deviceFree,
		Reserved:    s.ReservedBytes.All.Current,
		Allocated:   s.AllocatedBytes.All.Current,
		Pending:     s.PendingBytes,
		Pages:       c.paged(),
		FreePages:   s.FreePageBytes,
		Pinned:      s.PinnedBytes,
		PrivateFree: private,
		OtherFree:   s.ReservedBytes.All.Current - s.ActiveBytes.All.Current - own,
		LargestFree: largest,
		Owners:      a.largestOwners(owners, 5),
		Rungs:       c.reports[:top],
	}
	if limit := a.policy.Load().limit; limit < unlimited {
		e.Limit = max(limit, 1) // 0 means none
	}
	e.Others, e.Besides = tellApart(processes, e.Reserved)
	if c.refused != errOverLimit {
		e.Err = c.refused
	}
	if p := c.t.group(); p != nil {
		e.PrivatePool = p.cfg.Name
		if p.cfg.Limit > 0 && (e.Limit == 0 || p.cfg.Limit < e.Limit) {
			e.Limit = p.cfg.Limit
		}
	}
	e.Cause = e.cause(own)
	return e
}

// cause finds the cause, given the free bytes of the stream and pool.
func (e *OutOfMemoryError) cause(own int64) Cause {
	free := e.Unallocated() - e.Pending + e.Room()
	switch {
	case e.DeviceTotal > 0 && e.Rounded > e.DeviceTotal, e.Limit > 0 && e.Rounded > e.Limit:
		return CauseTooLarge
	case free < e.Rounded && !e.limited() && e.heldByOthers() >= e.missing():
		return CauseOthers
	case free < e.Rounded:
		return CauseInUse
	case free-e.PrivateFree < e.Rounded:
		return CausePrivate
	case e.Unallocated()-e.Pending < e.Rounded && e.Room() < e.Asked:
		return CauseSegment
	case !e.Pages && own+e.Room() < e.Rounded:
		return CauseElsewhere
	}
	return CauseFragmented
}

// formatSize writes bytes as PyTorch's messages do.
func formatSize(n int64) string {
	switch {
	case n <= 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n <= 1<<20:
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	case n <= 1<<30:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
