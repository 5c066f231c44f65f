package tensor

import (
	"errors"

	"tarn/cuda"
	"tarn/memory"
)

// wrapped is a CUDA device whose upstream is a test's. What is captured has been
// loaded by its first run: all modules would be much to load for a test.
type wrapped struct {
	*cudaBackend
	up memory.Upstream
}

func (b wrapped) Upstream() memory.Upstream { return b.up }
func (b wrapped) Load() error               { return nil }

// NewCUDAOver is [NewCUDA] with what wrap makes of the device's upstream: all
// that the allocator and the streams ask goes by it. Where guard is not nil it
// is told as with [Device.SetGuard].
func NewCUDAOver(c *cuda.Context, cfg memory.Config, guard Guard, wrap func(memory.Upstream) memory.Upstream) (*Device, error) {
	b := &cudaBackend{context: c, guard: guard}
	plain, err := b.open(cfg)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := plain.mem.Close(); err != nil {
		return nil, err
	}
	d, err := NewDevice(wrapped{b, wrap(b.upstream)}, cfg)
	if err == nil {
		d.poisons = d.poisons || guard != nil
	}
	return d, err
}

// Empty returns a tensor whose contents are whatever was there.
func Empty(p Place, dt DType, shape ...int) *Tensor { return create("Empty", p, dt, shape) }

// GiveAway ends the graph's claim to its memory, as if it were closed: it is
// everybody's from then on.
func (g *Graph) GiveAway() error { return g.body.pool.Close() }

// Handle returns the allocator's name of the block that t lies in.
func Handle(t *Tensor) memory.Handle { return t.storage.block.Handle }
