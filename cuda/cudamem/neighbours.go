package cudamem

import (
	"fmt"
	"sync"

	"tarn/cuda"
	"tarn/cuda/nvml"
	"tarn/memory"
)

// management is the driver's management library, which stays open: whoever asks
// who is on a device will ask again.
var management = sync.OnceValues(nvml.Open)

// Processes implements [memory.Neighbours] by the driver's management library,
// which is loaded when the first one is asked for. The error wraps
// [memory.ErrNotSupported] where there is none, and says what the library said
// where it does not know the device.
func (u *Upstream) Processes() ([]memory.Process, error) {
	device := u.context.Device()
	if device.UUID == (cuda.UUID{}) {
		return nil, fmt.Errorf("cudamem: %s: processes: the driver does not tell its UUID: %w", device, memory.ErrNotSupported)
	}
	library, err := management()
	if err != nil {
		return nil, fmt.Errorf("cudamem: %s: processes: %w: %w", device, memory.ErrNotSupported, err)
	}
	list, err := library.Processes(device.UUID)
	if err != nil {
		return nil, fmt.Errorf("cudamem: %s: processes: %w", device, err)
	}
	var processes []memory.Process
	for _, p := range list {
		processes = append(processes, memory.Process{PID: p.PID, Bytes: p.Memory})
	}
	return processes, nil
}
