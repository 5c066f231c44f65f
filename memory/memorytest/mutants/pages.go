package main

// pages are the mutants of the virtual memory.
var pages = []mutant{
	// What is idle.
	{"mark at the present, not at the event", "idle.go", "max(t.idle.until, until)", "max(t.idle.until, clock)", "TestMarkIsNotTheLastWord"},
	{"last free before an event not idle", "idle.go", "b.freedAt() <= t.idle.until", "b.freedAt() < t.idle.until", "TestIdlePagesAreTakenWhereTheyLie"},
	{"event asked for and not believed", "idle.go", "done, err = a.up.QueryEvent(event); done", "_, err = a.up.QueryEvent(event); done", "TestIdlePagesAreTakenWhereTheyLie"},
	{"no stream waits for another", "idle.go", "t.stream != s", "t.stream == s", "TestUnfinishedPagesAreFollowed"},

	// Runs.
	{"run joined to another stream's", "run.go", "ar.owner(s.from-1) == t.id", "ar.owner(s.from-1) != 0", "TestRunsOfTwoStreamsStayApart"},
	{"pages given to the wrong run", "run.go", "ar.assign(s, t.id, slot)", "ar.assign(s, t.id, 0)", "TestRunsOfTwoStreamsStayApart"},
	{"pages given to the wrong stream", "run.go", "ar.assign(s, t.id, slot)", "ar.assign(s, 1, slot)", "TestRunsOfTwoStreamsStayApart"},
	{"run not joined to the next", "run.go", "if ar.owner(s.to) == t.id", "if ar.owner(s.to) == inTransit", "TestRunsThatTouchAreOne"},
	{"joined run keeps a free border", "run.go", "if h.state != stateFree", "if true", "TestRunsThatTouchAreOne"},
	{"pages keep their old run", "run.go", "t.relabel(ar, right, head, right)", "", "TestCutLeavesTheEnds"},
	{"run behind a cut not counted", "run.go", "t.runs[ar.pool]++\n\t\tt.segments[right]", "t.segments[right]", "TestCutLeavesTheEnds"},
	{"pages behind a cut idle at once", "run.go", "tail.setFreedAt(freedAt)", "tail.setFreedAt(min(freedAt, 0))", "TestPagesOnBothSidesAreNotIdle"},
	{"page with live bytes at its front is whole", "run.go", "roundUp(int64(b.ptr-ar.base), ar.page)", "int64(b.ptr-ar.base)", "TestPinnedPagesAreNotMoved"},

	// Windows.
	{"most pages to map", "plan.go", "cmp.Compare(w.missing, v.missing)", "cmp.Compare(v.missing, w.missing)", "TestIdlePagesAreTakenWhereTheyLie"},
	{"widest gap", "plan.go", "cmp.Compare(w.room, v.room)", "cmp.Compare(v.room, w.room)", "TestTightestGapIsTaken"},
	{"own bytes before a window not used", "plan.go", "before, after := v.before[gap.from], int64(0)", "before, after := int64(0), int64(0)", "TestWindowBeginsInAnOwnBlock"},
	{"own bytes behind a window not used", "plan.go", "after = v.after[gap.to]", "after = 0", "TestWindowEndsInAnOwnBlock"},
	{"busy pages in the window of an idle rung", "plan.go", "other != t && !busy", "false && !busy", "TestIdlePagesAreTakenWhereTheyLie"},
	{"fresh pages planned twice", "haul.go", "h.ar.assign(s, inTransit, 0)", "h.ar.assign(s, 0, 0)", "TestPagesUnderWay"},

	// Hauls.
	{"smallest pieces move first", "haul.go", "cmp.Compare(q.len(), p.len())", "cmp.Compare(p.len(), q.len())", "TestLargestPiecesMoveFirst"},
	{"busy pieces move first", "haul.go", "n += 2", "n -= 2", "TestIdlePiecesMoveFirst"},
	{"more pages moved than are missing", "haul.go", "s.to = min(s.to, s.from+h.create)", "", "TestPieceIsCut"},
	{"pages moved under running work", "haul.go", "a.awaitStreams(wait)", "error(nil)", "TestMovedPagesWereWaitedFor"},
	{"pages taken under running work", "haul.go", "a.follow(h.t.stream, follow)", "error(nil)", "TestUnfinishedPagesAreFollowed"},
	{"followed pages idle at once", "haul.go", "freedAt = h.t.clock", "freedAt = 0", "TestPartOfTheWindowIsTaken"},
	{"memory of pages on their way not counted", "haul.go", "a.returning += p.ar.bytes(p.span)", "", "TestHaul"},
	{"moved pages keep their pool", "haul.go", "a.reserved.sub(p.ar.pool, bytes)", "", "TestPagesChangePools"},
	{"unmapped pieces not put back", "haul.go", "h.putBack(h.sources[:n])", "h.putBack(h.sources[n:n])", "TestHaulIsUndone"},
	{"pieces not put back after a map", "haul.go", "h.putBack(h.sources), ", "", "TestHaulIsUndone"},
	{"mapped spans left after a failure", "haul.go", "errors.Join(err, a.unmapAgain(h.ar, s))", "errors.Join(err, a.up.SetAccess(h.ar.ptr(s.from), h.ar.bytes(s)))", "TestGrowthIsUndone"},
	{"new pages left after a failure", "haul.go", "return errors.Join(err, h.drop())", "return err", "TestGrowthIsUndone"},
	{"planned pages stay in transit", "haul.go", "h.ar.assign(s, 0, 0)", "h.ar.assign(s, inTransit, 0)", "TestHaulIsUndone"},
	{"put back pages idle at once", "haul.go", "p.t.join(p.ar, p.span, p.freedAt)", "p.t.join(p.ar, p.span, 0)", "TestHaulIsUndone"},
	{"lost memory stays in the books", "haul.go", "sources[n].lost = true", "sources[n].lost = false", "TestHaulFailsTwice"},
	{"released pages stay reserved", "haul.go", "a.reserved.sub(p.ar.pool, p.ar.bytes(p.span))", "", "TestEmptyCacheReleasesWholePages"},
	{"mapped pages left after a failure", "arena.go", "err != nil && mapped > 0", "err != nil && mapped < 0", "TestHaulIsUndone"},
	{"refused page forgotten", "arena.go", "a.keep(stray{pg, ar.pool})", "", "TestPagesThatDoNotGoBack"},

	// The ladder.
	{"reuse takes what is busy", "paged.go", "c.fromPages(means{})", "c.fromPages(means{busy: true})", "TestIdlePagesAreTakenWhereTheyLie"},
	{"grow past the peak", "paged.go", "over <= 0 ||", "over > 0 ||", "TestPeakMovesPages"},
	{"host waits within the hard budget", "paged.go", "wait: overHard > 0", "wait: overHard > 0 || true", "TestSlackWaitsForNobody"},
	{"host never waits before it grows", "paged.go", "wait: overHard > 0", "wait: overHard > 0 && false", "TestSlackWaitsForNobody"},
	{"own pages never known to be idle", "idle.go", "(own || other != t)", "other != t", "TestSlackMovesIdlePages"},
	{"pages never move", "paged.go", "create: true, move: move, wait: true}", "create: true}", "TestWholeFreePagesAreEnough"},
	{"pages released under running work", "paged.go", "wait = wait || !s.idle", "wait = false", "TestEmptyCacheReleasesWholePages"},
	{"refused pages lost", "paged.go", "p.lost = !refused", "p.lost = true", "TestPagesThatDoNotGoBack"},
	{"close under running work", "allocator.go", "err := a.awaitStreams(tables); err != nil", "err := error(nil); err != nil", "TestCloseWaitsForPages"},
}
