package tensor

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/hostmem"
)

// DeviceInfo is a device of this machine, or why there is none of its kind.
type DeviceInfo struct {
	Name   string // what OpenDevice opens it by: "cpu", "cuda:0"; "cuda" where no driver can be used
	Model  string // as its maker calls it
	UUID   string // as the driver's tools print it; empty for the CPU
	Memory int64  // bytes
	Err    error  // why it cannot be used
}

// Devices lists the CPU and the CUDA devices. It opens none of them, but loads
// the driver where there is one.
func Devices() []DeviceInfo {
	isa, _ := CPUKernels()
	cpu := DeviceInfo{Name: "cpu", Model: isa}
	up, err := hostmem.New(hostmem.Config{})
	if err == nil {
		_, cpu.Memory, err = up.MemInfo()
	}
	cpu.Err = err
	return append([]DeviceInfo{cpu}, cudaDevices()...)
}

func cudaDevices() []DeviceInfo {
	library, err := cuda.Open()
	if err != nil {
		return []DeviceInfo{{Name: "cuda", Err: err}}
	}
	all := make([]DeviceInfo, library.Devices())
	for i := range all {
		d, err := library.Device(i)
		if err != nil {
			all[i] = DeviceInfo{Name: fmt.Sprintf("cuda:%d", i), Err: err}
			continue
		}
		all[i] = DeviceInfo{Name: d.String(), Model: d.Name, UUID: d.UUID.String(), Memory: d.Memory}
	}
	return all
}

// OpenDevice returns the device of a name: "cpu", "cuda" or "cuda:1", a CUDA
// device's UUID, or "auto", which is the first CUDA device, or the CPU where that
// cannot be used: why then says so. It is the device that [CPU] or [CUDA]
// returns, the same each time.
func OpenDevice(name string) (d *Device, why string, err error) {
	switch {
	case name == "cpu":
		d = CPU()
	case name == "auto":
		if d = CUDA(0); d.err != nil {
			d, why = CPU(), fmt.Sprintf("no CUDA device can be used: %v", d.err)
		}
	default:
		index, err := cudaIndex(name)
		if err != nil {
			return nil, "", err
		}
		d = CUDA(index)
	}
	if d.err != nil {
		return nil, "", d.err
	}
	return d, why, nil
}

// cudaIndex returns the number of a device that is called "cuda", "cuda:1", or by
// a UUID.
func cudaIndex(name string) (int, error) {
	kind, number, numbered := strings.Cut(name, ":")
	if kind == "cuda" {
		if !numbered {
			return 0, nil
		}
		index, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("tensor: device %q: %q is no device number", name, number)
		}
		return int(index), nil
	}
	if len(name) < len("00000000-0000-0000-0000-000000000000") {
		return 0, fmt.Errorf("tensor: device %q: want cpu, cuda, cuda:N, auto or a UUID", name)
	}
	library, err := cuda.Open()
	if err != nil {
		return 0, fmt.Errorf("tensor: device %q: %w", name, err)
	}
	d, err := library.Find(name)
	if err != nil {
		return 0, fmt.Errorf("tensor: device %q: %w", name, err)
	}
	return d.Index, nil
}

var cudas struct {
	sync.Mutex
	open map[int]*Device
}

// CUDA returns CUDA device i, 0 for the first, with the settings of the
// environment, the same each time. Where it could not be opened, every op on it
// reports why.
func CUDA(i int) *Device {
	cudas.Lock()
	defer cudas.Unlock()
	if d := cudas.open[i]; d != nil {
		return d
	}
	d, err := OpenCUDA(i, memory.Config{})
	if err != nil {
		d = &Device{name: fmt.Sprintf("cuda:%d", i), err: err}
		d.stream = &Stream{dev: d}
	}
	if cudas.open == nil {
		cudas.open = map[int]*Device{}
	}
	cudas.open[i] = d
	return d
}

// OpenCUDA opens CUDA device i with memory of its own, under a limit or with
// other settings of the allocator. Close gives it back. The error says what is
// missing: a driver, a device, memory.
func OpenCUDA(i int, cfg memory.Config) (*Device, error) {
	library, err := cuda.Open()
	if err != nil {
		return nil, fmt.Errorf("tensor: open cuda:%d: %w", i, err)
	}
	device, err := library.Device(i)
	if err != nil {
		return nil, fmt.Errorf("tensor: open cuda:%d: %w", i, err)
	}
	c, err := device.Open()
	if err != nil {
		return nil, fmt.Errorf("tensor: open cuda:%d: %w", i, err)
	}
	return newCUDA(c, true, cfg)
}
