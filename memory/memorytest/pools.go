package memorytest

import (
	"fmt"

	"tarn/cuda"
	"tarn/memory"
)

// numPools is how many private pools ops allocate from.
const numPools = 2

// privatePool is one of them, as the model knows it.
type privatePool struct {
	*memory.Pool
	live int64 // bytes in its blocks
}

// openPools opens the private pools, where the allocator has such.
func (m *model) openPools() {
	maker, ok := m.Allocator.(interface {
		NewPool(memory.PoolConfig) (*memory.Pool, error)
	})
	if !ok {
		return
	}
	for i := range m.pools {
		if m.pools[i] != nil {
			continue
		}
		p, err := maker.NewPool(memory.PoolConfig{Name: fmt.Sprintf("pool %d", i+1)})
		if err != nil {
			m.t.Fatalf("private pool: %v", err)
		}
		m.pools[i] = &privatePool{Pool: p}
	}
}

// pool returns the private pool of an op, nil for none.
func (m *model) pool(op Op) *privatePool {
	if op.Pool == 0 {
		return nil
	}
	return m.pools[op.Pool-1]
}

// closePool closes a pool, whose memory is everybody's then, and opens another
// in its place.
func (m *model) closePool(p *privatePool) error {
	if p == nil {
		return nil
	}
	for piece, owner := range m.owners {
		if owner == p {
			m.owners[piece] = nil
		}
	}
	for i := range m.pools {
		if m.pools[i] == p {
			m.pools[i] = nil
		}
	}
	m.openPools()
	return m.tolerate(p.Close())
}

// own demands that the memory under a block that p handed out, or with nil the
// rest, was nobody else's since it came from the device.
func (m *model) own(b memory.Block, p *privatePool) error {
	if m.fake == nil {
		return nil
	}
	for _, piece := range m.fake.under(b.Ptr, b.Size) {
		if owner, ok := m.owners[piece]; ok && owner != p {
			return fmt.Errorf("%d bytes at %#x for %v are of %v", b.Size, uintptr(b.Ptr), p, owner)
		}
		m.owners[piece] = p
	}
	return nil
}

func (p *privatePool) String() string {
	if p == nil {
		return "no private pool"
	}
	return p.Stats().Name
}

// checkPools compares the books of the pools with the model.
func (m *model) checkPools() (errs []error) {
	for _, p := range m.pools {
		if p == nil {
			continue
		}
		if s := p.Stats(); s.Allocated != p.live || s.Active < s.Allocated || s.Reserved < s.Active {
			errs = append(errs, fmt.Errorf("%d live bytes in %+v", p.live, s))
		}
	}
	return errs
}

// under returns what tells the device's memory at an address from all that
// there ever was: plain allocations and pages. The system gives addresses of
// real memory out again, so plain ones that are backed are not among it.
func (f *Fake) under(p cuda.DevicePtr, size int64) (pieces []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from, to, _, ok := f.mappings.cover(p, size); ok {
		for _, r := range f.mappings[from:to] {
			pieces = append(pieces, r.page)
		}
	} else if i := f.allocs.after(p); i < len(f.allocs) && !f.cfg.Backed {
		pieces = append(pieces, f.allocs[i].ptr)
	}
	return pieces
}
