package memorytest_test

import (
	"errors"
	"fmt"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// A device with streams notices that memory is written for a new owner while
// the old one's work may still read it.
func ExampleFake() {
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 1 << 20, Asynchronous: true})
	p, err := f.Alloc(4096)
	fmt.Println(err)
	fmt.Println(f.Read(1, p, 4096))
	fmt.Println(errors.Is(f.Write(2, p, 4096), memorytest.ErrUnordered))

	f.Wait(2, 1) // as cuStreamWaitEvent does
	fmt.Println(f.Write(2, p, 4096))
	fmt.Println(f.Free(p, 4096), f.Leaked())
	// Output:
	// <nil>
	// <nil>
	// true
	// <nil>
	// <nil> <nil>
}

// Each upstream call can be made to fail.
func ExampleFake_FailAt() {
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 1 << 20})
	f.FailAt(memorytest.CallAlloc, 2, memory.ErrUpstreamFull)
	for range 3 {
		_, err := f.Alloc(512)
		fmt.Println(err)
	}
	fmt.Println(f.Calls())
	// Output:
	// <nil>
	// memory: upstream is full
	// <nil>
	// alloc 3
}
