package memory_test

import (
	"errors"
	"fmt"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// A block that was freed is the next one of its size. The table at the end is
// what memory.Summary prints for each device.
func Example() {
	up := memorytest.NewFake(memorytest.FakeConfig{Name: "cuda:0", Capacity: 1 << 30})
	a, err := memory.New(up, memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	weights, _ := a.Alloc(3<<20, 0, memory.Untagged)
	for range 3 {
		activations, _ := a.Alloc(5<<20, 0, memory.Untagged)
		if err := a.Free(activations.Handle); err != nil {
			fmt.Println(err)
		}
	}
	s := a.Stats()
	fmt.Println("allocated", s.AllocatedBytes.All.Current>>20, "MiB at most", s.AllocatedBytes.All.Peak>>20)
	fmt.Println("reserved ", s.ReservedBytes.All.Current>>20, "MiB in", s.NumDeviceAlloc, "segment")
	fmt.Println(s.Summary()[:233])
	_ = a.Free(weights.Handle)
	// Output:
	// allocated 3 MiB at most 8
	// reserved  20 MiB in 1 segment
	// |===========================================================================|
	// |                    Tarn memory summary, device cuda:0                     |
	// |---------------------------------------------------------------------------|
}

// An out-of-memory error says what would help.
func ExampleOutOfMemoryError() {
	up := memorytest.NewFake(memorytest.FakeConfig{Name: "cuda:0", Capacity: 64 << 20})
	a, _ := memory.New(up, memory.Config{NoBackgroundGC: true})
	b, _ := a.Alloc(40<<20, 0, memory.Untagged)
	_, err := a.Alloc(30<<20, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	if errors.As(err, &oom) {
		fmt.Println(oom.Allocated>>20, "MiB allocated, cause in use:", oom.Cause == memory.CauseInUse)
	}
	fmt.Println(err)
	_ = a.Free(b.Handle)
	_ = a.Close()
	// Output:
	// 40 MiB allocated, cause in use: true
	// cuda:0 out of memory. Tried to allocate 30.00 MiB. cuda:0 has a total capacity of 64.00 MiB of which 24.00 MiB is free. Of the allocated memory 40.00 MiB is allocated by Tarn, and 0 bytes is reserved by Tarn but unallocated.
	//   request: 31457280 bytes, rounded to 31457280, as a segment of 30.00 MiB, from the large pool of stream 0x0
	//   free:    the largest block is 0 bytes; 0 bytes pinned by blocks in use, 0 bytes of other streams or the other pool, 0 bytes pending
	//   owners:  40.00 MiB in 1 block: untagged
	//   tried:   drain, grow, release, wait, collect
	//   cause:   the blocks in use and the request together exceed the device by 6.00 MiB.
	//   help:    Release tensors that are no longer needed (Release, scopes), or use a smaller batch.
}
