package cuda

import "tarn/cuda/internal/shim"

// CanAccess reports whether the device can read and write the memory of the
// other one where it lies. It cannot its own in this sense.
func (d *Device) CanAccess(peer *Device) (bool, error) {
	t := d.library.table
	out := t.Call(shim.CanAccessPeer, 0, uint64(d.handle), uint64(peer.handle), 0, 0)
	return out.Value != 0, check(t, out)
}

// EnablePeer lets the context's kernels and copies use what the peer has
// allocated and will allocate; the other way is another call. It is not for
// mapped pages, which have SetAccessFrom, nor for the peer's Pool. If it is on already, nothing happens.
func (c *Context) EnablePeer(peer *Context) error {
	if err := peer.usable(); err != nil {
		return err
	}
	if err := c.usable(); err != nil {
		return err
	}
	out := c.table.Call(shim.EnablePeer, c.handle, uint64(peer.handle), 0, 0, 0)
	if out.Entry == shim.EnablePeer && Code(out.Code) == PeerEnabled {
		return nil
	}
	return c.check(out)
}

// DisablePeer ends what EnablePeer began, for all who use the two devices in this
// program.
func (c *Context) DisablePeer(peer *Context) error {
	if err := peer.usable(); err != nil {
		return err
	}
	_, err := c.call(shim.DisablePeer, uint64(peer.handle), 0, 0, 0)
	return err
}

// CopyPeer queues a copy of size bytes from the memory of one context to that of
// another, in a stream of c, which is either of them. It goes by way of the host
// where the devices cannot reach each other. Mapped pages need access by both.
func (c *Context) CopyPeer(s Stream, to DevicePtr, toContext *Context, from DevicePtr, fromContext *Context, size int64) error {
	if size < 0 {
		return refuse(shim.CopyPeer, InvalidValue)
	}
	for _, other := range []*Context{c, toContext, fromContext} {
		if err := other.usable(); err != nil {
			return err
		}
	}
	return c.check(c.table.CopyPeer(c.handle, uintptr(to), toContext.handle,
		uintptr(from), fromContext.handle, size, uintptr(c.on(s))))
}
