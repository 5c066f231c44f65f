package cudasim

import (
	"fmt"

	"tarn/cuda"
)

// Poison marks memory that an allocator has taken back, in the order of a
// stream: work that touches it after is an illegal access, by name. Only whole
// multiples of 512 bytes of the range are marked. The stream is one of any
// device of the machine. The error says that there is no such stream, or that
// something of the range is no memory.
func (m *Machine) Poison(p cuda.DevicePtr, size int64, s cuda.Stream) error {
	return m.setPoison(p, size, s, 1)
}

// Unpoison takes marks away, in the order of a stream.
func (m *Machine) Unpoison(p cuda.DevicePtr, size int64, s cuda.Stream) error {
	return m.setPoison(p, size, s, 0)
}

func (m *Machine) setPoison(p cuda.DevicePtr, size int64, handle cuda.Stream, value byte) error {
	s, ok := find[*stream](m, uintptr(handle))
	if !ok {
		return fmt.Errorf("cudasim: poison: there is no stream %#x", uintptr(handle))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.space.run(uint64(p), uint64(size))
	if size <= 0 || run == nil {
		return fmt.Errorf("cudasim: poison: %d bytes at %#x are not all memory", size, uintptr(p))
	}
	type part struct {
		marks    []byte
		from, to uint64
	}
	var parts []part
	for _, r := range run {
		if r.memory.freed == nil {
			r.memory.marks()
			for _, d := range m.devices {
				d.change()
			}
		}
		from, to := max(r.ptr, uint64(p)), min(r.end(), uint64(p)+uint64(size))
		if to == r.end() {
			to = r.ptr + roundUp(r.size(), granule)
		}
		parts = append(parts, part{r.memory.freed, from - r.ptr, to - r.ptr})
	}
	_, code := s.submit(work{name: "poison", run: func() error {
		for _, x := range parts {
			mark(x.marks, x.from, x.to, value)
		}
		return nil
	}})
	if code != cuda.Success {
		return fmt.Errorf("cudasim: poison: %v", code)
	}
	return nil
}

// marks makes room for the marks of the memory; guarded by the machine.
func (b *backing) marks() {
	if b.freed == nil {
		b.freed = make([]byte, (len(b.bytes)+granule-1)/granule)
	}
}
