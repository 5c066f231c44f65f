package cudasim

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"tarn/cuda"
)

// device is a simulated GPU. What has no other guard is guarded by the machine.
type device struct {
	machine *Machine
	index   int
	used    int64 // bytes
	pages   int   // that have a name
	primary *context
	pool    *pool
	workers []*stream      // with work, as far as is known
	gone    map[string]int // what went with a context, by kind
	peers   uint64         // devices whose memory the context may use, by bit
	lost    atomic.Pointer[FaultError]

	// memory is what work sees of it; stale says that it has changed since.
	memory atomic.Pointer[snapshot]
	stale  bool
}

func newDevice(m *Machine, index int) *device {
	d := &device{machine: m, index: index, gone: map[string]int{}}
	d.pool = newPool(d)
	d.memory.Store(new(snapshot))
	return d
}

func (d *device) owner() *Machine { return d.machine }

// String returns the name that package cuda has for the device.
func (d *device) String() string { return "cuda:" + strconv.Itoa(d.index) }

// number is the device's CUdevice: 7 bits each for the device and for the slot,
// and 17 for the machine among those of the slot.
func (d *device) number() int {
	return d.machine.serial&0x1ffff<<14 | d.machine.slot<<7 | d.index
}

// deviceAt returns the device of a CUdevice.
func deviceAt(number int) *device {
	m := machineAt(number >> 7 & 0x7f)
	if m == nil {
		return nil
	}
	return m.device(number)
}

// device is deviceAt for a device of the machine.
func (m *Machine) device(number int) *device {
	if i := number & 0x7f; i < len(m.devices) && m.devices[i].number() == number {
		return m.devices[i]
	}
	return nil
}

func (d *device) name() string { return fmt.Sprintf("Simulated GPU %d", d.index) }

// uuid tells the device from those of other machines that are open.
func (d *device) uuid() [16]byte {
	id := [16]byte{'t', 'a', 'r', 'n', 's', 'i', 'm'}
	id[14], id[15] = byte(d.machine.slot), byte(d.index)
	return id
}

// What a block can have.
const (
	maxThreads             = 1024
	sharedBytes            = 48 << 10 // of shared memory, without asking
	sharedBytesOfTheSystem = 1 << 10  // of shared memory, beside what it has
)

// sharedOptIn is the bytes that a block may have after asking for them.
func (c *Config) sharedOptIn() int {
	switch capability := 10*c.Major + c.Minor; {
	case capability < 80:
		return 64 << 10
	case capability == 86 || capability == 89 || capability >= 120:
		return 99 << 10
	case capability < 90:
		return 163 << 10
	}
	return 227 << 10
}

// attribute answers for a CUdevice_attribute.
func (d *device) attribute(number int) (int, cuda.Code) {
	c := &d.machine.config
	if value, ok := map[int]int{
		1: maxThreads, 2: 1024, 3: 1024, 4: 64, // threads of a block
		5: 1<<31 - 1, 6: 65535, 7: 65535, // blocks of a grid
		8: sharedBytes, 9: 64 << 10, 10: 32, 12: 64 << 10, 13: 1_000_000, // shared, constant, warp, registers, kHz
		16: c.Multiprocessors, 31: 1, 36: 1_000_000, 37: 256, 38: 4 << 20, 39: 2048,
		40: 2, 41: 1, // copy engines, unified addresses
		75: c.Major, 76: c.Minor, 81: c.sharedOptIn() + sharedBytesOfTheSystem, 82: 64 << 10, 97: c.sharedOptIn(),
		102: 1, 103: 0, 110: 0, 115: 1, // virtual memory, file descriptors, RDMA, memory pools
	}[number]; ok {
		return value, cuda.Success
	}
	return 0, cuda.InvalidValue
}

// change says that the device's memory is not as work sees it.
func (d *device) change() { d.stale = true }

// refresh brings what work sees up to date.
func (d *device) refresh() {
	if !d.stale {
		return
	}
	d.stale = false
	s := d.machine.space.visible(d)
	hide()
	d.memory.Store(s)
	show()
}

// view is what work sees of memory now. It is for the goroutines of streams.
func (d *device) view() *snapshot {
	hide()
	s := d.memory.Load()
	show()
	return s
}

// running returns the streams that may have work. Others are forgotten.
func (d *device) running() []*stream {
	left := d.workers[:0]
	for _, s := range d.workers {
		if !s.destroyed || !s.queue.idle() {
			left = append(left, s)
		}
	}
	clear(d.workers[len(left):])
	d.workers = left
	return append([]*stream(nil), left...)
}

// idle reports whether no stream has work. It is no order for anybody.
func (d *device) idle() bool {
	for _, s := range d.workers {
		if !s.queue.idle() {
			return false
		}
	}
	return true
}

// lose takes the device away.
func (d *device) lose(e *FaultError) {
	if d.lost.CompareAndSwap(nil, e) {
		d.machine.report(e)
	}
}
