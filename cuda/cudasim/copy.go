package cudasim

import (
	"encoding/binary"
	"unsafe"

	"tarn/cuda"
)

// host returns bytes of host memory.
func host(p uintptr, size uint64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), size)
}

// pinnedAt returns the pinned memory that p to p+size lies in, nil for memory
// that is not pinned. A range that begins in pinned memory and does not end there
// is refused. It is guarded by the machine.
func (m *Machine) pinnedAt(p, size uint64) (*region, cuda.Code) {
	if i := m.space.index(p); i > 0 {
		r := m.space.regions[i-1]
		if r.kind == pinned && p < r.end() {
			if size > r.end()-p {
				return nil, cuda.InvalidValue
			}
			return r, cuda.Success
		}
	}
	return nil, cuda.Success
}

// move copies between two lists of pieces of the same length in all.
func move(to, from [][]byte) {
	for len(to) > 0 && len(from) > 0 {
		n := copy(to[0], from[0])
		if to[0] = to[0][n:]; len(to[0]) == 0 {
			to = to[1:]
		}
		if from[0] = from[0][n:]; len(from[0]) == 0 {
			from = from[1:]
		}
	}
}

// copying is a copy between devices, or within one.
func copying(toDevice *device, to uint64, fromDevice *device, from, size uint64) func() error {
	return func() error {
		source, err := fromDevice.view().pieces(from, size, false)
		if err != nil {
			return err
		}
		target, err := toDevice.view().pieces(to, size, true)
		if err != nil {
			return err
		}
		move(target, source)
		return nil
	}
}

// copyIn is cuMemcpyHtoDAsync: of memory that is not pinned the bytes are taken
// at once, of pinned memory when the stream gets there.
func (s *stream) copyIn(to uint64, from uintptr, size uint64) cuda.Code {
	const name = "cuMemcpyHtoDAsync"
	m, d := s.owner(), s.context.device
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case size == 0:
		return cuda.Success
	case from == 0 || !m.space.usable(d, to, size):
		return cuda.InvalidValue
	}
	r, code := m.pinnedAt(uint64(from), size)
	if code != cuda.Success {
		return code
	}
	if r != nil {
		_, code := s.submit(work{name: name, kind: nodeCopy, way: hostToDevice, uses: append(m.space.uses(to, size), &r.use),
			run: copying(d, to, d, uint64(from), size)})
		return code
	}
	if s.capture != nil {
		s.capture.broken = true // the bytes would be gone when the graph runs
		return captureUnsupported
	}
	bytes := append([]byte(nil), host(from, size)...)
	_, code = s.submit(work{name: name, uses: m.space.uses(to, size), run: func() error {
		target, err := d.view().pieces(to, size, true)
		if err != nil {
			return err
		}
		move(target, [][]byte{bytes})
		return nil
	}})
	return code
}

// copyOut is cuMemcpyDtoHAsync: to memory that is not pinned it waits for the
// bytes.
func (s *stream) copyOut(to uintptr, from, size uint64) cuda.Code {
	const name = "cuMemcpyDtoHAsync"
	m, d := s.owner(), s.context.device
	m.mu.Lock()
	if size == 0 || to == 0 || !m.space.usable(d, from, size) {
		m.mu.Unlock()
		if size == 0 {
			return cuda.Success
		}
		return cuda.InvalidValue
	}
	r, code := m.pinnedAt(uint64(to), size)
	if code != cuda.Success {
		m.mu.Unlock()
		return code
	}
	if r != nil {
		defer m.mu.Unlock()
		_, code := s.submit(work{name: name, kind: nodeCopy, way: deviceToHost, uses: append(m.space.uses(from, size), &r.use),
			run: copying(d, uint64(to), d, from, size)})
		return code
	}
	if s.capture != nil {
		defer m.mu.Unlock()
		s.capture.broken = true
		return captureUnsupported
	}
	bytes := make([]byte, size)
	o, code := s.submit(work{name: name, uses: m.space.uses(from, size), run: func() error {
		source, err := d.view().pieces(from, size, false)
		if err != nil {
			return err
		}
		move([][]byte{bytes}, source)
		return nil
	}})
	m.mu.Unlock()
	if code != cuda.Success {
		return code
	}
	o.wait()
	if code := d.code(); code != cuda.Success {
		return code
	}
	copy(host(to, size), bytes)
	return cuda.Success
}

// copy is cuMemcpyDtoDAsync.
func (s *stream) copy(to, from, size uint64) cuda.Code {
	m, d := s.owner(), s.context.device
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case size == 0:
		return cuda.Success
	case !m.space.usable(d, to, size) || !m.space.usable(d, from, size):
		return cuda.InvalidValue
	case to < from+size && from < to+size:
		m.report(&MisuseError{"cuMemcpyDtoDAsync", "the two ranges overlap"})
	}
	_, code := s.submit(work{name: "cuMemcpyDtoDAsync", kind: nodeCopy, way: deviceToDevice,
		uses: append(m.space.uses(to, size), m.space.uses(from, size)...), run: copying(d, to, d, from, size)})
	return code
}

// fill is cuMemsetD8Async and cuMemsetD32Async: count elements of width bytes.
func (s *stream) fill(name string, to uint64, value uint32, width, count uint64) cuda.Code {
	m, d := s.owner(), s.context.device
	m.mu.Lock()
	defer m.mu.Unlock()
	size := count * width
	switch {
	case count == 0:
		return cuda.Success
	case count > machineSpan || to%width != 0 || !m.space.usable(d, to, size):
		return cuda.InvalidValue
	}
	var pattern [4]byte
	binary.LittleEndian.PutUint32(pattern[:], value)
	_, code := s.submit(work{name: name, kind: nodeFill, uses: m.space.uses(to, size), run: func() error {
		target, err := d.view().pieces(to, size, true)
		if err != nil {
			return err
		}
		for _, b := range target {
			for n := copy(b, pattern[:width]); n < len(b); n *= 2 {
				copy(b[n:], b[:n])
			}
		}
		return nil
	}})
	return code
}
