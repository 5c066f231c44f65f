package cudasim

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"tarn/cuda"
)

// Config says what a machine has. The zero value is a machine with one device.
type Config struct {
	Devices         int   // 1 where it is 0
	Memory          int64 // bytes of each device, 1 GiB where it is 0
	Granularity     int64 // bytes of virtual-memory calls, a power of two; 2 MiB where it is 0
	Multiprocessors int   // 16 where it is 0
	Major, Minor    int   // compute capability, 8.0 where both are 0

	// Workers is how many goroutines the blocks of a launch are spread over; 0
	// means 1 under the race detector and GOMAXPROCS else.
	Workers int
	// Delays is the seed of pauses between the operations of a stream, which
	// change how streams interleave; 0 means none.
	Delays uint64
	// Lazy has a stream run only when something waits for it or asks about it,
	// so that what a program forgot to wait for is not there.
	Lazy bool
	// SharedRaces has each kernel looked at for races in shared memory, which a
	// device would not notice; one that has some is a fault. It makes kernels that
	// use shared memory slower.
	SharedRaces bool
	// Steps is how many instructions, about, a warp may run in a launch before it is
	// ended with CUDA_ERROR_LAUNCH_TIMEOUT; 1<<32 where it is 0, many seconds.
	Steps int64
	// Faults are calls that fail.
	Faults []Fault
}

// The machines of a process lie side by side in addresses that nothing is
// mapped at, so that a host that follows a device's address faults.
const (
	slots        = 48
	firstAddress = uint64(0x7000_0000_0000)
	machineSpan  = uint64(1) << 38
	maxDevices   = 64 // bits of an access mask
)

// Machine is a driver with its simulated devices.
type Machine struct {
	config  Config
	slot    int
	serial  int // tells it from those that had the slot before
	library *cuda.Library
	devices []*device
	faults  faults
	reports reports
	strict  atomic.Int32 // captures that are not relaxed

	mu     sync.Mutex // guards what follows and the state of all things of the machine
	closed bool
	space  space
	graphs map[*graph]bool
	execs  map[*exec]bool
}

// machines are those that are open, by slot.
var machines struct {
	sync.Mutex
	slot   [slots]*Machine
	opened [slots]int // how many the slot has had
}

// Open makes a machine and its library. The error says what is wrong with the
// configuration, or that 48 machines are open already, or is the library's.
func Open(config Config) (*Machine, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	m := &Machine{config: config, graphs: map[*graph]bool{}, execs: map[*exec]bool{}}
	if err := m.faults.add(config.Faults...); err != nil {
		return nil, err
	}
	if !m.takeSlot() {
		return nil, fmt.Errorf("cudasim: %d machines are open, and that is as many as there can be", slots)
	}
	m.space.base = firstAddress + uint64(m.slot)*machineSpan
	m.space.next = m.space.base
	for i := range config.Devices {
		m.devices = append(m.devices, newDevice(m, i))
	}
	var err error
	if m.library, err = cuda.NewLibrary("simulated CUDA driver", m.symbol); err != nil {
		forget(m)
		m.leaveSlot()
		return nil, fmt.Errorf("cudasim: %w", err)
	}
	return m, nil
}

func (c *Config) complete() error {
	or := func(v *int64, value int64) {
		if *v == 0 {
			*v = value
		}
	}
	orInt := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	or(&c.Memory, 1<<30)
	or(&c.Granularity, 2<<20)
	or(&c.Steps, 1<<32)
	orInt(&c.Devices, 1)
	orInt(&c.Multiprocessors, 16)
	if c.Major == 0 && c.Minor == 0 {
		c.Major = 8
	}
	workers := runtime.GOMAXPROCS(0)
	if raceEnabled {
		workers = 1
	}
	orInt(&c.Workers, workers)
	switch {
	case c.Devices < 1 || c.Devices > maxDevices:
		return fmt.Errorf("cudasim: %d devices; a machine has 1 to %d", c.Devices, maxDevices)
	case c.Memory < 0 || uint64(c.Memory) > machineSpan/2/uint64(c.Devices):
		return fmt.Errorf("cudasim: %d bytes of memory; %d devices have at most %d each", c.Memory, c.Devices, machineSpan/2/uint64(c.Devices))
	case c.Granularity < 4096 || c.Granularity&(c.Granularity-1) != 0:
		return fmt.Errorf("cudasim: a granularity of %d bytes; it is a power of two, at least 4096", c.Granularity)
	case c.Multiprocessors < 0 || c.Major < 0 || c.Minor < 0 || c.Workers < 0 || c.Steps < 0:
		return errors.New("cudasim: a negative number in the configuration")
	}
	return nil
}

func (m *Machine) takeSlot() bool {
	machines.Lock()
	defer machines.Unlock()
	for i, other := range machines.slot {
		if other == nil {
			m.slot, m.serial, machines.slot[i] = i, machines.opened[i], m
			machines.opened[i]++
			return true
		}
	}
	return false
}

func (m *Machine) leaveSlot() {
	machines.Lock()
	defer machines.Unlock()
	machines.slot[m.slot] = nil
}

// machineAt returns the open machine of a slot.
func machineAt(slot int) *Machine {
	machines.Lock()
	defer machines.Unlock()
	if slot < 0 || slot >= slots {
		return nil
	}
	return machines.slot[slot]
}

// Library returns the driver, initialised.
func (m *Machine) Library() *cuda.Library { return m.library }

// Reports returns what went wrong so far, in order of time: a [*FaultError] for
// work that took its device away, a [*MisuseError] for what a driver would not
// notice.
func (m *Machine) Reports() []error { return m.reports.all() }

// Close waits for all work and ends the machine: its library, and all that came
// from it, must not be used after. It returns a [*LeakError] where something
// was left. What a lost device had is not counted: nobody could give it back.
func (m *Machine) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return errors.New("cudasim: the machine is closed already")
	}
	m.closed = true
	streams := m.streams()
	m.mu.Unlock()
	for _, s := range streams {
		s.drain()
		s.queue.close()
	}
	m.mu.Lock()
	for _, d := range m.devices {
		d.pool.reap()
	}
	err := m.left()
	m.mu.Unlock()
	forget(m)
	m.leaveSlot()
	if err != nil {
		return err
	}
	return nil
}

// streams returns all streams with work, those that were destroyed too.
func (m *Machine) streams() (all []*stream) {
	for _, d := range m.devices {
		all = append(all, d.running()...)
	}
	return all
}

// report keeps an error and logs it, once.
func (m *Machine) report(err error) {
	m.reports.add(err)
	slog.Error(err.Error())
}
