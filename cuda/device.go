package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"tarn/cuda/internal/shim"
)

// Device is what there is to know of a device before anything runs on it. Its
// fields are facts: nobody changes them.
type Device struct {
	Index        int // among the devices that the driver shows to this program
	Name         string
	UUID         UUID  // zero where the driver cannot say
	Major, Minor int   // compute capability
	Memory       int64 // bytes

	Multiprocessors   int
	WarpSize          int   // threads
	MaxThreads        int   // in a block
	SharedMemory      int64 // bytes that any block may have
	SharedMemoryOptIn int64 // bytes that one may have after SetMaxShared
	L2Cache           int64 // bytes
	VirtualMemory     bool  // the virtual-memory calls work
	FileDescriptors   bool  // another process can open a page by a file descriptor
	RDMA              bool  // a network card can reach mapped pages
	CopyEngines       int   // copies that can run beside kernels

	library *Library
	handle  int // CUdevice
}

// UUID tells a device from all others, on any machine.
type UUID [16]byte

// String prints the UUID as the driver's tools do for a whole device.
func (u UUID) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// String returns the device's name in messages: "cuda:0".
func (d *Device) String() string { return "cuda:" + strconv.Itoa(d.Index) }

// The numbers of CUdevice_attribute.
const (
	attrMaxThreads      = 1
	attrShared          = 8
	attrWarpSize        = 10
	attrMultiprocessors = 16
	attrL2              = 38
	attrCopyEngines     = 40
	attrMajor           = 75
	attrMinor           = 76
	attrSharedOptIn     = 97
	attrVirtualMemory   = 102
	attrFD              = 103
	attrRDMA            = 110 // of memory that is mapped
)

// Device describes device i, 0 <= i < Devices.
func (l *Library) Device(i int) (*Device, error) {
	if i < 0 || i >= l.devices {
		return nil, fmt.Errorf("cuda: there is no device %d: the driver shows %d", i, l.devices)
	}
	q := query{t: l.table}
	d := &Device{Index: i, library: l}
	d.handle = int(q.call(shim.DeviceGet, uint64(i), 0))
	q.handle = d.handle
	d.Name, d.UUID = q.name(), q.uuid()
	d.Memory = q.call(shim.DeviceTotalMem, uint64(d.handle), 0)
	d.Major, d.Minor = int(q.attribute(attrMajor)), int(q.attribute(attrMinor))
	d.Multiprocessors = int(q.attribute(attrMultiprocessors))
	d.WarpSize, d.MaxThreads = int(q.attribute(attrWarpSize)), int(q.attribute(attrMaxThreads))
	d.SharedMemory, d.SharedMemoryOptIn = q.attribute(attrShared), q.attribute(attrSharedOptIn)
	d.L2Cache = q.attribute(attrL2)
	d.VirtualMemory = q.attribute(attrVirtualMemory) != 0 && l.has(shim.Map)
	d.FileDescriptors = q.attribute(attrFD) != 0
	d.RDMA = q.attribute(attrRDMA) != 0
	d.CopyEngines = int(q.attribute(attrCopyEngines))
	if q.err != nil {
		return nil, q.err
	}
	return d, nil
}

// Find describes the device of that index or UUID. A UUID may be given as the
// driver's tools print it, of a whole device or of a part ("MIG-..."), or
// without that beginning; in either case.
func (l *Library) Find(name string) (*Device, error) {
	if i, err := strconv.Atoi(name); err == nil {
		return l.Device(i)
	}
	want := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(name), "gpu-"), "mig-")
	for i := range l.devices {
		d, err := l.Device(i)
		if err != nil {
			return nil, err
		}
		if d.UUID != (UUID{}) && strings.TrimPrefix(d.UUID.String(), "GPU-") == want {
			return d, nil
		}
	}
	return nil, fmt.Errorf("cuda: none of the %d devices is %q", l.devices, name)
}

// has reports whether the feature that e belongs to is there.
func (l *Library) has(e shim.Entry) bool {
	for _, feature := range l.table.Missing() {
		if feature == l.table.Feature(e) {
			return false
		}
	}
	return true
}

// query asks many questions and keeps the first error.
type query struct {
	t      *shim.Table
	handle int
	err    error
}

func (q *query) call(e shim.Entry, a, b uint64) int64 {
	if q.err != nil {
		return 0
	}
	out := q.t.Call(e, 0, a, b, 0, 0)
	q.err = check(q.t, out)
	return int64(out.Value)
}

func (q *query) attribute(number uint64) int64 {
	return q.call(shim.DeviceGetAttribute, uint64(q.handle), number)
}

func (q *query) name() string {
	text := make([]byte, 256)
	if q.err == nil {
		q.err = check(q.t, q.t.DeviceText(shim.DeviceGetName, q.handle, text))
	}
	return untilNUL(text)
}

func (q *query) uuid() UUID {
	text := make([]byte, 16)
	if q.err == nil {
		if out := q.t.DeviceText(shim.DeviceGetUUID, q.handle, text); !out.Missing {
			q.err = check(q.t, out)
		}
	}
	return UUID(text)
}

func untilNUL(text []byte) string {
	s, _, _ := strings.Cut(string(text), "\x00")
	return s
}
