//go:build cgo && (linux || darwin)

package cuda

import (
	"fmt"

	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
)

// table is the driver's functions.
type table = shim.Table

// connect takes a library from open to initialised. One that has been
// initialised is never unloaded, even where a later step fails.
func connect(name string, lib *dl.Library) (*Library, error) {
	t, version, err := identify(name, lib)
	if err != nil {
		// Nothing of the library runs yet; the reason that it cannot be used
		// is worth more than one that it cannot be closed either.
		_ = lib.Close()
		return nil, err
	}
	if err := check(t, "cuInit", t.Init(0)); err != nil {
		return nil, err
	}
	devices, code := t.DeviceGetCount()
	if code == 0 && devices < 1 {
		code = int32(NoDevice)
	}
	if err := check(t, "cuDeviceGetCount", code); err != nil {
		return nil, err
	}
	return &Library{name: name, version: version, devices: devices, table: t}, nil
}

// identify finds the functions and asks for the version, which works before
// cuInit: an old driver is named as such, whatever cuInit would say.
func identify(name string, lib *dl.Library) (*table, Version, error) {
	t, err := shim.Fill(lib.Symbol)
	if err != nil {
		return nil, 0, loadError(name, err)
	}
	v, code := t.DriverGetVersion()
	if err := check(t, "cuDriverGetVersion", code); err != nil {
		return nil, 0, err
	}
	version := Version(v)
	if version < MinVersion {
		return nil, 0, &LoadError{Library: name,
			Reason: fmt.Sprintf("the driver supports CUDA %v, Tarn needs %v or newer", version, MinVersion)}
	}
	return t, version, nil
}

// check makes an *Error of a code other than success. The driver is asked for
// the name of a code that is newer than our table.
func check(t *table, op string, code int32) error {
	c := Code(code)
	if c == Success {
		return nil
	}
	e := &Error{Op: op, Code: c, Name: c.String()}
	if _, known := codes[c]; !known {
		if name := t.ErrorName(code); name != "" {
			e.Name = name
		}
	}
	return e
}
