package cuda

import (
	"fmt"
	"strings"
	"sync"

	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
)

// libraryName is the driver's library. It comes with the driver; the CUDA
// toolkit has only a stub of it, under a name without the version.
const libraryName = "libcuda.so.1"

// MinVersion is the oldest CUDA version that a driver must support.
const MinVersion Version = 11040

// Version is a CUDA version as the driver counts: 1000 x major + 10 x minor.
type Version int

// String returns major and minor, as in "12.4".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Library is the driver, loaded and initialised, with at least one device. It
// stays loaded until the program ends: the driver has threads of its own that
// would lose their code.
type Library struct {
	name    string
	version Version
	devices int
	table   *shim.Table
	books   books
}

// Name returns the name under which the library was opened.
func (l *Library) Name() string { return l.name }

// Version returns the newest CUDA version that the driver supports.
func (l *Library) Version() Version { return l.version }

// Devices returns the number of devices, at least 1.
func (l *Library) Devices() int { return l.devices }

// Missing names the features that are off because the driver has no function
// for them.
func (l *Library) Missing() []string { return l.table.Missing() }

// Open loads and initialises the driver. It looks once: later calls return
// what the first one found. The error is a [*LoadError] where there is no
// usable library, and an [*Error] where the driver itself refused.
func Open() (*Library, error) { return openOnce() }

// Probe reports whether Open succeeds.
func Probe() error {
	_, err := Open()
	return err
}

var openOnce = sync.OnceValues(func() (*Library, error) { return open(libraryName) })

func open(name string) (*Library, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, loadError(name, err)
	}
	return connect(name, lib.Symbol, lib.Close)
}

// NewLibrary is Open for a driver that is not a shared library, such as a
// simulated one. resolve returns the address of the C function that has a
// symbol of the driver API, or an error for one that there is not; the
// functions must work until the program ends. The name is for messages.
func NewLibrary(name string, resolve func(symbol string) (address uintptr, err error)) (*Library, error) {
	return connect(name, resolve, nil)
}

// loadError quotes the system without the name that it tends to begin with.
func loadError(name string, err error) error {
	return &LoadError{Library: name, Reason: strings.TrimPrefix(err.Error(), name+": "), Err: err}
}
