package cudasim

import "tarn/cuda"

// context is the primary context of a device. All fields but the first two are
// guarded by the machine.
type context struct {
	device  *device
	handle  uintptr
	holds   int // retains without a release
	streams map[*stream]bool
	events  map[*event]bool
	modules map[*module]bool
	legacy  *stream // the driver's own default stream; nil until it is used
	// threads are the default streams of threads, by their ids.
	threads map[uintptr]*stream
}

func (c *context) owner() *Machine { return c.device.machine }

// retain makes the primary context, or counts one more user.
func (d *device) retain() (*context, cuda.Code) {
	if e := d.lost.Load(); e != nil {
		return nil, e.Code
	}
	m := d.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.primary == nil {
		c := &context{device: d, streams: map[*stream]bool{}, events: map[*event]bool{}, modules: map[*module]bool{}, threads: map[uintptr]*stream{}}
		c.handle = add(c)
		d.primary = c
	}
	d.primary.holds++
	return d.primary, cuda.Success
}

// release counts one user less. The last one takes the context away with all
// that is in it, as soon as its work is done; address ranges and pages stay.
func (d *device) release() cuda.Code {
	m := d.machine
	m.mu.Lock()
	c := d.primary
	if c == nil {
		m.mu.Unlock()
		return invalidContext
	}
	if c.holds--; c.holds > 0 {
		m.mu.Unlock()
		return cuda.Success
	}
	d.primary = nil
	drop(c.handle)
	streams := d.running()
	m.mu.Unlock()
	for _, s := range streams {
		s.drain()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.pool.reap()
	if d.lost.Load() == nil {
		for kind, n := range c.count() {
			d.gone[kind] += n
		}
	}
	c.clear()
	return cuda.Success
}

// count says how many things of each kind belong to the context.
func (c *context) count() map[string]int {
	n := map[string]int{"streams": len(c.streams), "events": len(c.events), "modules": len(c.modules)}
	for _, r := range c.owner().space.regions {
		if r.context == c {
			n[r.kind.String()]++
		}
	}
	n["streams"] -= len(c.threads)
	if c.legacy != nil {
		n["streams"]--
	}
	return n
}

// clear takes away what the context has.
func (c *context) clear() {
	for s := range c.streams {
		s.remove()
	}
	for e := range c.events {
		drop(e.handle)
	}
	for m := range c.modules {
		m.remove()
	}
	m := c.owner()
	for _, r := range append([]*region(nil), m.space.regions...) {
		if r.context == c {
			m.discard(r)
			if r.kind == pooled {
				c.device.pool.used -= cost(r.size())
			}
		}
	}
	c.device.peers = 0
	m.changeAll()
}

// sync waits for all work of the device.
func (c *context) sync() cuda.Code {
	m := c.owner()
	m.mu.Lock()
	streams := c.device.running()
	captured := false
	for _, s := range streams {
		if s.capture != nil {
			s.capture.broken, captured = true, true
		}
	}
	m.mu.Unlock()
	if captured {
		return captureUnsupported
	}
	for _, s := range streams {
		s.drain()
	}
	return c.device.code()
}

// code is what calls return since the device was lost.
func (d *device) code() cuda.Code {
	if e := d.lost.Load(); e != nil {
		return e.Code
	}
	return cuda.Success
}
