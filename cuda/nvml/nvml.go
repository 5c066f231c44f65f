// Package nvml asks the driver's management library who uses a device: it sees
// all programs of the machine, where package cuda sees its own. The library comes
// with the driver; importing this package loads nothing.
package nvml

import (
	"errors"
	"fmt"
	"strings"

	"tarn/cuda"
	"tarn/cuda/internal/dl"
)

// libraryName is the library, as the driver installs it.
const libraryName = "libnvidia-ml.so.1"

// Library is the management library, loaded and initialised. Its methods may be
// called from many goroutines. It stays loaded until the program ends.
type Library struct {
	driver functions
}

// functions are those of the library, with its codes: 0 is success.
type functions interface {
	init() int
	shutdown() int
	text(code int) string
	device(uuid string) (handle uintptr, code int)
	memory(device uintptr) (Memory, int)
	// processes fills as many as there is room for, and returns how many there
	// are.
	processes(device uintptr, room []Process) (n, code int)
}

// Memory is what a device has, in bytes.
type Memory struct {
	Total, Free int64
	Used        int64 // by programs, and on some drivers by the driver itself
}

// Process is a program that has a CUDA context on a device.
type Process struct {
	PID    int   // as the host counts: a container may know it by another number
	Memory int64 // bytes on the device; -1 where the driver does not tell
}

// Error is a call of the library that failed.
type Error struct {
	Op   string // the library's name of the call
	Code int    // nvmlReturn_t
	Text string // the library's own words
}

func (e *Error) Error() string { return fmt.Sprintf("nvml: %s: %s (%d)", e.Op, e.Text, e.Code) }

// The codes of nvmlReturn_t that are more than failures.
const (
	success           = 0
	invalidArgument   = 2
	notFound          = 6
	insufficientSize  = 7
	processesAttempts = 8
)

// Open loads and initialises the library. The error says what the system said
// where it cannot be loaded, wraps [cuda.ErrNoLoader] in a build that can load
// nothing, and is an [*Error] where the library refused.
func Open() (*Library, error) { return open(libraryName) }

func open(name string) (*Library, error) {
	lib, err := dl.Open(name)
	if err == nil {
		var l *Library
		if l, err = connect(lib); err == nil {
			return l, nil
		}
		// It was not initialised, so nobody is in its code. Why is worth more than
		// an error of this.
		_ = lib.Close()
	}
	var refused *Error
	if errors.As(err, &refused) {
		return nil, err
	}
	return nil, &loadError{name, err}
}

// loadError says the library's name once, although the system tends to begin with
// it.
type loadError struct {
	name string
	err  error
}

func (e *loadError) Error() string {
	return fmt.Sprintf("nvml: cannot use %s: %s", e.name, strings.TrimPrefix(e.err.Error(), e.name+": "))
}

func (e *loadError) Unwrap() error { return e.err }

func connect(lib *dl.Library) (*Library, error) {
	f, err := find(lib)
	if err != nil {
		return nil, err
	}
	l := &Library{driver: f}
	return l, l.check("nvmlInit", f.init())
}

// Close ends the use of the library. All other calls must have returned, and none
// may come later.
func (l *Library) Close() error { return l.check("nvmlShutdown", l.driver.shutdown()) }

// Memory returns what a device has, all programs included.
func (l *Library) Memory(uuid cuda.UUID) (Memory, error) {
	d, err := l.device(uuid)
	if err != nil {
		return Memory{}, err
	}
	m, code := l.driver.memory(d)
	return m, l.check("nvmlDeviceGetMemoryInfo", code)
}

// Processes returns the programs that compute on a device, this one included.
func (l *Library) Processes(uuid cuda.UUID) ([]Process, error) {
	d, err := l.device(uuid)
	if err != nil {
		return nil, err
	}
	var room []Process
	n, code := l.driver.processes(d, room)
	for i := 0; i < processesAttempts && code == insufficientSize; i++ { // programs come and go
		room = make([]Process, n+4)
		n, code = l.driver.processes(d, room)
	}
	if err := l.check("nvmlDeviceGetComputeRunningProcesses", code); err != nil {
		return nil, err
	}
	return room[:n], nil
}

// device finds a device, or the part of one that has the UUID.
func (l *Library) device(uuid cuda.UUID) (uintptr, error) {
	name := uuid.String()
	d, code := l.driver.device(name)
	if code == notFound || code == invalidArgument {
		if part, found := l.driver.device("MIG-" + strings.TrimPrefix(name, "GPU-")); found == success {
			return part, nil
		}
	}
	return d, l.check("nvmlDeviceGetHandleByUUID", code)
}

func (l *Library) check(op string, code int) error {
	if code == success {
		return nil
	}
	return &Error{Op: op, Code: code, Text: l.driver.text(code)}
}
