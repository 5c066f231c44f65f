//go:build !linux

package memorytest

import (
	"errors"
	"math"

	"tarn/cuda"
	"tarn/memory/hostmem"
)

// realMemory has plain allocations only.
type realMemory struct {
	counter
	host *hostmem.Upstream
}

func newRealMemory(granularity int64) (backing, error) {
	if granularity != 0 {
		return nil, errors.New("virtual memory needs Linux")
	}
	host, err := hostmem.New(hostmem.Config{Capacity: math.MaxInt64}) // the fake counts
	return &realMemory{host: host}, err
}

func (m *realMemory) alloc(size, _ int64) (cuda.DevicePtr, error) { return m.host.Alloc(size) }
func (m *realMemory) free(p cuda.DevicePtr, size int64) error     { return m.host.Free(p, size) }
