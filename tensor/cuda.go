package tensor

import (
	"errors"
	"fmt"
	"os"

	"tarn/cuda"
	"tarn/cuda/cudamem"
	"tarn/kernels"
	"tarn/kernels/gpu"
	"tarn/memory"
	"tarn/memory/pinned"
)

// cudaBackend is a CUDA device by one context.
type cudaBackend struct {
	context  *cuda.Context
	owned    bool // the context ends with the device
	upstream *cudamem.Upstream
	kernels  *gpu.Kernels
	pinned   *pinned.Pool // what copies to and from the host go by
	guard    Guard        // nil for none
}

// NewCUDA makes a device of a context, which stays the caller's: the real
// driver's, or that of a simulated one. Where cfg has no Settings they are those
// of the environment; see [memory.SettingsFromEnv]. Close the device before the
// context.
func NewCUDA(c *cuda.Context, cfg memory.Config) (*Device, error) { return newCUDA(c, false, cfg) }

// newCUDA closes the context where that is owned, also after an error.
func newCUDA(c *cuda.Context, owned bool, cfg memory.Config) (*Device, error) {
	b := &cudaBackend{context: c, owned: owned}
	d, err := b.open(cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tensor: open %v: %w", c.Device(), err), b.Close())
	}
	return d, nil
}

func (b *cudaBackend) open(cfg memory.Config) (d *Device, err error) {
	if cfg.Settings == (memory.Settings{}) {
		if cfg.Settings, err = memory.SettingsFromEnv(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	if b.upstream, err = cudamem.New(b.context); err != nil {
		return nil, err
	}
	if b.pinned, err = pinned.New(pinnedSource{b.upstream, b.context}, pinned.Config{Limit: pinnedLimit}); err != nil {
		return nil, err
	}
	b.kernels = gpu.New(b.context)
	return newDevice(b, cfg)
}

// Close takes away what the device made beside its memory and its streams.
func (b *cudaBackend) Close() error {
	var errs []error
	if b.kernels != nil {
		errs = append(errs, b.kernels.Close())
	}
	if b.pinned != nil {
		errs = append(errs, b.pinned.Close())
	}
	if b.owned {
		errs = append(errs, b.context.Close())
	}
	return errors.Join(errs...)
}

func (b *cudaBackend) Upstream() memory.Upstream         { return b.upstream }
func (b *cudaBackend) Kernels() *kernels.Table           { return b.kernels.Table() }
func (b *cudaBackend) Queue(s cuda.Stream) kernels.Queue { return b.kernels.Queue(s) }

func (b *cudaBackend) NewStream(priority int) (cuda.Stream, error) {
	return b.context.NewStream(priority)
}

func (b *cudaBackend) Priorities() (least, most int, err error) { return b.context.Priorities() }

func (b *cudaBackend) CloseStream(s cuda.Stream) error { return b.context.DestroyStream(s) }

// Synchronize also tells what kernels found wrong with the data.
func (b *cudaBackend) Synchronize(s cuda.Stream) error {
	if err := b.context.SyncStream(s); err != nil {
		return err
	}
	return b.kernels.Fault()
}

// Load implements [Capturer].
func (b *cudaBackend) Load() error { return b.kernels.Load() }

// BeginCapture implements [Capturer].
func (b *cudaBackend) BeginCapture(s cuda.Stream) error { return b.context.BeginCapture(s) }

// EndCapture implements [Capturer].
func (b *cudaBackend) EndCapture(s cuda.Stream) (Recording, error) {
	g, err := b.context.EndCapture(s)
	if err != nil {
		return nil, errors.Join(err, b.dropCapture(s))
	}
	x, err := g.Instantiate()
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.Close(); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// dropCapture ends a capture that the driver did not end.
func (b *cudaBackend) dropCapture(s cuda.Stream) error {
	if status, err := b.context.Capturing(s); err != nil || status == cuda.NotCapturing {
		return err
	}
	g, err := b.context.EndCapture(s)
	if err != nil {
		return err
	}
	return g.Close()
}
