package tensor

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
)

// cpuBackend runs ops at once, on memory outside the Go heap.
type cpuBackend struct {
	upstream memory.Upstream
	table    *kernels.Table
	streams  atomic.Uintptr
}

var cpuDevice atomic.Pointer[Device]

var openCPU = sync.OnceValue(func() *Device {
	d, err := newCPU("cpu", memory.Config{})
	if err != nil {
		d = &Device{name: "cpu", err: err}
		d.stream = &Stream{dev: d}
	}
	cpuDevice.Store(d)
	return d
})

// NewCPU returns the CPU as a device with memory of its own, under a limit or
// with other settings of the allocator; Close gives it back. Where cfg has no
// Settings they are those of the environment; see [memory.SettingsFromEnv]. Its
// tensors and those of [CPU] are on different devices; it is called "cpu:1", and
// the next one "cpu:2".
func NewCPU(cfg memory.Config) (*Device, error) {
	return newCPU(fmt.Sprintf("cpu:%d", cpus.Add(1)), cfg)
}

var cpus atomic.Int64

func newCPU(name string, cfg memory.Config) (*Device, error) {
	if cfg.Settings == (memory.Settings{}) {
		var err error
		if cfg.Settings, err = memory.SettingsFromEnv(os.LookupEnv); err != nil {
			return nil, fmt.Errorf("tensor: open %s: %w", name, err)
		}
	}
	up, err := hostmem.New(hostmem.Config{Name: name})
	if err != nil {
		return nil, err
	}
	return NewDevice(NewHostBackend(up, cpu.Table()), cfg)
}

// NewHostBackend returns a device whose memory the host can address and whose
// ops run at once, made of the given parts. [CPU] is one; a test may make its
// own, with less memory.
func NewHostBackend(up memory.Upstream, ops *kernels.Table) Backend {
	return &cpuBackend{upstream: up, table: ops}
}

// CPU returns the CPU as a device, as NewCPU does, the same each time. Where it
// could not be opened, every op on it reports why.
func CPU() *Device { return openCPU() }

// SetThreads sets how many threads one op on the CPU may use; less than 1 brings
// the default back, the smaller of GOMAXPROCS and the number of cores. Results
// do not depend on it.
func SetThreads(n int) { cpu.SetThreads(n) }

// CPUKernels says what the CPU's ops are written for, such as "avx512", and how
// many threads one may use.
func CPUKernels() (isa string, threads int) { return cpu.ISA(), cpu.Threads() }

func cpuIfOpen() *Device { return cpuDevice.Load() }

func (b *cpuBackend) Upstream() memory.Upstream         { return b.upstream }
func (b *cpuBackend) Kernels() *kernels.Table           { return b.table }
func (b *cpuBackend) Queue(s cuda.Stream) kernels.Queue { return cpuQueue(s) }
func (b *cpuBackend) Synchronize(cuda.Stream) error     { return nil }

// NewStream numbers streams, so that each has a pool of the allocator.
func (b *cpuBackend) NewStream(int) (cuda.Stream, error) {
	return cuda.Stream(b.streams.Add(1)), nil
}

func (b *cpuBackend) Priorities() (least, most int, err error) { return 0, 0, nil }
func (b *cpuBackend) CloseStream(cuda.Stream) error            { return nil }

type cpuQueue cuda.Stream

func (q cpuQueue) Stream() cuda.Stream { return cuda.Stream(q) }

func (b *cpuBackend) CopyIn(_ cuda.Stream, dst cuda.DevicePtr, src []byte) error {
	copy(hostBytes(dst, len(src)), src)
	return nil
}

func (b *cpuBackend) CopyOut(_ cuda.Stream, dst []byte, src cuda.DevicePtr) error {
	copy(dst, hostBytes(src, len(dst)))
	return nil
}

// poison implements poisoner.
func (b *cpuBackend) poison(_ cuda.Stream, p cuda.DevicePtr, size int64) error {
	bytes := hostBytes(p, int(size))
	for i := range bytes {
		bytes[i] = 0xFF
	}
	return nil
}

func (b *cpuBackend) unpoison(cuda.Stream, cuda.DevicePtr, int64) error { return nil }

// hostBytes returns memory outside the Go heap as a slice. The address comes
// from the host upstream, so no Go object moves or dies under it.
func hostBytes(p cuda.DevicePtr, n int) []byte {
	addr := uintptr(p)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}
