package cudamem

import "tarn/cuda"

// AllocAsync implements [memory.StreamOrdered]. The first one has the driver's
// pool keep all that is freed, for the whole program: without that it gives the
// memory back whenever somebody waits for the device.
func (u *Upstream) AllocAsync(size int64, s cuda.Stream) (cuda.DevicePtr, error) {
	var err error
	u.keeps.Do(func() { err = u.pool.SetThreshold(-1) })
	if err != nil {
		return 0, err
	}
	p, err := u.pool.Alloc(size, s)
	if err != nil {
		return 0, translate(err)
	}
	u.remember(p, size)
	return p, nil
}

// FreeAsync implements [memory.StreamOrdered].
func (u *Upstream) FreeAsync(p cuda.DevicePtr, size int64, s cuda.Stream) error {
	return u.free(p, size, func(p cuda.DevicePtr) error { return u.pool.Free(p, s) })
}

// TrimPool implements [memory.StreamOrdered].
func (u *Upstream) TrimPool() error { return u.pool.Trim(0) }
