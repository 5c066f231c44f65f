package cudasim

import "tarn/cuda"

// canAccess is cuDeviceCanAccessPeer: all devices of a machine reach each other.
func (d *device) canAccess(peer *device) bool { return d != peer }

// enablePeer is cuCtxEnablePeerAccess: work of c may use plain allocations of
// the other context.
func (c *context) enablePeer(peer *context, flags uint32) cuda.Code {
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	bit := uint64(1) << peer.device.index
	switch {
	case flags != 0:
		return cuda.InvalidValue
	case peer == c:
		return invalidDevice
	case c.device.peers&bit != 0:
		return peerEnabled
	}
	c.device.peers |= bit
	c.device.change()
	return cuda.Success
}

// disablePeer is cuCtxDisablePeerAccess.
func (c *context) disablePeer(peer *context) cuda.Code {
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	bit := uint64(1) << peer.device.index
	if c.device.peers&bit == 0 {
		return peerNotEnabled
	}
	c.device.peers &^= bit
	m.taken(c.device)
	return cuda.Success
}

// copyPeer is cuMemcpyPeerAsync: each side is memory of its context's device.
func (s *stream) copyPeer(to uint64, toContext *context, from uint64, fromContext *context, size uint64) cuda.Code {
	m, t, f := s.owner(), toContext.device, fromContext.device
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case size == 0:
		return cuda.Success
	case !m.space.usable(t, to, size) || !m.space.usable(f, from, size):
		return cuda.InvalidValue
	}
	_, code := s.submit(work{name: "cuMemcpyPeerAsync", kind: nodeCopy, way: betweenDevices,
		uses: append(m.space.uses(to, size), m.space.uses(from, size)...), run: copying(t, to, f, from, size)})
	return code
}
