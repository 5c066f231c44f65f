// Package memorytest tests allocators and the upstreams below them. It is for
// test files only.
//
//   - [Fake] is a small real device: a capacity, addresses, virtual memory,
//     streams. It refuses what a driver refuses, notices work that touches
//     memory too early or too late, and fails on demand.
//   - [TestUpstream] is the conformance suite of every [memory.Upstream].
//   - [TestAllocator] is the conformance suite of every [Allocator]: random
//     lists of ops with a model beside them, named scenarios, a fault at every
//     upstream call. [Naive] is the oracle of its books, and [Play] the body
//     of a fuzz test.
//   - [Traces] are recorded programs, from training to serving, and [Replay]
//     plays one.
//   - [RunScript] plays golden scripts: readable stories of an allocator.
//
// Random tests print their seed; -seed replays it. -rewrite writes the golden
// scripts' outputs anew.
package memorytest
