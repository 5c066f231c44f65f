package main

// mutants are the changes, by file. Where two tests would do it is the
// shorter one.
var mutants = append([]mutant{
	// Blocks: split, coalesce, the books.
	{"coalesce only to the right", "table.go", "prev.state == stateFree", "prev.state == stateParked", "TestCoalesce"},
	{"coalesce drops what is behind", "table.go", "b.next = next.next", "b.next = 0", "TestCoalesce"},
	{"merged block as idle as its older part", "table.go", "max(b.freedAt(), next.freedAt())", "min(b.freedAt(), next.freedAt())", "TestLaterFreeCounts"},
	{"rest of a block idle at once", "table.go", "tail.setFreedAt(b.freedAt())", "tail.setFreedAt(0)", "TestRestOfABlockIsNotIdle"},
	{"clock of frees stands still", "table.go", "t.clock++", "", "TestUnfinishedPagesAreFollowed"},
	{"split off bytes not in the books", "table.go", "inactiveSplitBytes].add(r.pool, spare)", "inactiveSplitBytes].add(r.pool, 0)", "TestCoalesce"},
	{"inactive blocks not counted", "table.go", "blocks, bytes = blocks+1, bytes+b.size", "blocks, bytes = blocks, bytes+b.size", "TestCoalesce"},
	{"freed bytes stay allocated", "table.go", "t.books[allocatedBytes].sub(b.pool, b.size)", "", "TestStatsFollowPyTorch"},
	{"tag keeps the bytes of a freed block", "table.go", "t.tags[b.tag].sub(b.requested)", "", "TestTags"},
	{"handle good after its block was freed", "table.go", "b.endGeneration()", "", "TestAllocatorOverFakes/plain/StaleHandles"},
	{"handle good for the next block", "table.go", "b.generation != h.generation || b.state != stateLive", "b.state != stateLive", "TestAllocatorOverFakes/plain/StaleHandles"},
	{"run released as a segment", "table.go", "s.size == 0 || s.arena != nil", "s.size == 0", "TestEmptyCacheReleasesWholePages"},
	{"record forgets its generation", "block.go", "block{generation: b.generation, next", "block{generation: 1, next", "TestRecordKeepsItsGeneration"},

	// The bins.
	{"worst fit", "bins.go", "b.size < least", "b.size > least", "TestSmallestOfTheFirstFew"},
	{"empty level stays marked", "bins.go", "bs.levels &^= 1 << level", "", "TestCoalesce"},
	{"blocks that are too good handed out", "bins.go", "b.size < most", "b.size <= most", "TestSmallestOfTheFirstFew"},
	{"scan ends at its limit", "bins.go", "found, _ = best(r, rest, size, most, int(r.fresh))", "found, _ = best(r, rest, size, most, 1)", "TestFindLooksPastTheScanLimit"},

	// Sizes and limits.
	{"1 MiB is large", "policy.go", "r.rounded <= smallLimit", "r.rounded < smallLimit", "TestPolicy"},
	{"remainder of 1 MiB cut off", "policy.go", "r.split = smallLimit + 1", "r.split = smallLimit", "TestPolicy"},
	{"limit never reached", "segment.go", "size > a.policy.Load().limit-a.held()", "size >= a.policy.Load().limit-a.held()", "TestAllocatorWithLimit/Peaks"},
	{"limit without what is on its way", "segment.go", "a.reserved[allPools].current() + a.pledged", "a.reserved[allPools].current()", "TestLimitCountsGrowthUnderWay"},
	{"failed growth holds its pledge", "segment.go", "\t\ta.pledged -= size\n", "", "TestGrowthUnderWay"},
	{"limit in pages too small", "haul.go", "bytes > a.policy.Load().limit-a.held()", "bytes >= a.policy.Load().limit-a.held()", "TestLimitInPages"},
	{"limit in pages too large by one", "haul.go", "bytes > a.policy.Load().limit-a.held()", "bytes-h.ar.page >= a.policy.Load().limit-a.held()", "TestLimitInPages"},
	{"pages on their way not pledged", "haul.go", "a.pledged += bytes", "", "TestLimitCountsPagesUnderWay"},
}, append(ladder, pages...)...)

var ladder = []mutant{
	{"release leaves the books", "segment.go", "a.reserved.sub(s.pool, s.size)", "", "TestEmptyCacheKeepsWhatIsInUse"},
	{"nobody waits for a return under way", "segment.go", "for a.inflight > 0", "for a.inflight > 9", "TestReturnUnderWay"},
	{"busy segment taken as idle", "segment.go", "busy || a.isIdle(", "true || a.isIdle(", "TestIdleSegmentsChangeStreams"},
	{"largest segment taken", "segment.go", "s.size >= least", "from != nil && s.size <= least", "TestIdleSegmentsChangeStreams"},
	{"segment taken without a wait", "segment.go", "err := a.follow(c.t.stream, []*table{from})", "var err error", "TestUnfinishedSegmentsAreFollowed"},
	{"no search after a rung's step", "ladder.go", "if b, ok := c.search(); ok {\n\t\treturn b, nil\n\t}\n\tb, err", "if b, ok := c.search(); false && ok {\n\t\treturn b, nil\n\t}\n\tb, err", "TestSearchAfterWait"},
	{"upstream asked again for nothing", "ladder.go", "progress == c.progress", "progress < c.progress", "TestOutOfMemoryChangesNothingButTheCache"},
	{"only the usual size of a segment", "ladder.go", "least < c.asked", "least > c.asked", "TestSmallestSegmentBeforeOutOfMemory"},
	{"retries not counted", "ladder.go", "served >= RungRelease", "served > RungRelease", "TestEachRungServes"},

	// Other processes.
	{"others to blame whatever they hold", "oom.go", "e.heldByOthers() >= e.missing()", "e.heldByOthers() >= 0", "TestOthersAreNotToBlame"},
	{"others to blame for a limit", "oom.go", "free < e.Rounded && !e.limited()", "free < e.Rounded", "TestOthersAreNotToBlame"},
	{"own memory held against others", "oom.go", "max(held-e.Reserved, 0)", "held", "TestWeMayBeAmongOthers"},
	{"processes asked for in a capture", "neighbours.go", "!ok || a.capturing.Load() != nil", "!ok", "TestNeighboursAreNotAsked"},

	// Blocks that other streams use.
	{"free after the first of two events", "pending.go", "b.uses--; b.uses > 0", "b.uses--; b.uses > 1", "TestSlowStreamHoldsUpNobody"},
	{"own stream waited for", "pending.go", "(s != t.stream || t.retired.Load()) && ", "", "TestUsesThatNeedNoEvent"},
	{"event of a failed free left", "pending.go", "errors.Join(err, a.destroyEvents(events))\n\t\t}\n\t\tevents", "err\n\t\t}\n\t\tevents", "TestFreeThatCannotRecordLeavesTheBlock"},
	{"failed free takes the block", "pending.go", "t.records.at(h.index).state = stateLive", "", "TestFreeThatCannotRecordLeavesTheBlock"},
	{"finished event left", "pending.go", "err := a.up.DestroyEvent(u.event)", "err := error(nil)", "TestCloseWaitsForParkedBlocks"},

	// Garbage.
	{"abandoned bytes not counted", "abandon.go", "\t\tt.waste.bytes += b.size", "", "TestAbandon"},
	{"abandoned blocks of two streams mixed", "abandon.go", " && handles[n].table == id", "", "TestAbandon"},
	{"abandoned block claimed twice", "abandon.go", "v.claimed = true", "", "TestAbandonedBlockWaitsToo"},
	{"hard budget eight times the soft one", "garbage.go", "return 2 * p.soft", "return 8 * p.soft", "TestGarbageIsBounded"},
	{"budget without end overflows", "garbage.go", "return 2 * maxRequest", "return math.MaxInt64", "TestBudgetWithoutEnd"},
	{"GC where nothing was allocated", "garbage.go", "before.allocated == a.pacer.allocated", "before.allocated < a.pacer.allocated", "TestNoGCWhereNothingWasAllocated"},
	{"budget counts what was released", "garbage.go", "return t.books[allocatedBytes][allPools].current() + t", "return t.books[allocatedBytes][allPools].allocated + t", "TestBackgroundGC"},
	{"peak of several streams not raised", "peaks.go", "a.peaks.raise(&now)", "", "TestPeaksOfSeveralStreams"},
}
