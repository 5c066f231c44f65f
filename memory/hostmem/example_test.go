package hostmem_test

import (
	"fmt"

	"tarn/memory"
	"tarn/memory/hostmem"
)

// An allocator over 1 GiB of the host.
func Example() {
	host, err := hostmem.New(hostmem.Config{Capacity: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := memory.New(host, memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	b, err := a.Alloc(1000, 0, memory.Untagged)
	if err != nil {
		fmt.Println(err)
		return
	}
	free, total, err := host.MemInfo()
	fmt.Println(b.Size, "bytes; the host has given", (total-free)>>20, "MiB", err)
	fmt.Println(a.Free(b.Handle))
	// Output:
	// 1024 bytes; the host has given 2 MiB <nil>
	// <nil>
}
