//go:build cgo && (linux || darwin)

package cuda

import (
	"fmt"

	"tarn/cuda/internal/shim"
)

// connect takes a driver from its functions to initialised. Before anything
// of it runs, it can be given up: discard does, where it is not nil.
func connect(name string, resolve func(string) (uintptr, error), discard func() error) (*Library, error) {
	t, version, err := identify(name, resolve)
	if err != nil {
		if discard != nil {
			// The reason that it cannot be used is worth more than one that it
			// cannot be closed either.
			_ = discard()
		}
		return nil, err
	}
	if err := check(t, t.Call(shim.Init, 0, 0, 0, 0, 0)); err != nil {
		return nil, err
	}
	out := t.Call(shim.DeviceGetCount, 0, 0, 0, 0, 0)
	if out.Code == 0 && int64(out.Value) < 1 {
		out.Code = int32(NoDevice)
	}
	if err := check(t, out); err != nil {
		return nil, err
	}
	return &Library{name: name, version: version, devices: int(out.Value), table: t}, nil
}

// identify finds the functions and asks for the version, which works before
// cuInit: an old driver is named as such, whatever cuInit would say.
func identify(name string, resolve func(string) (uintptr, error)) (*shim.Table, Version, error) {
	t, err := shim.Fill(resolve)
	if err != nil {
		return nil, 0, loadError(name, err)
	}
	out := t.Call(shim.DriverGetVersion, 0, 0, 0, 0, 0)
	if err := check(t, out); err != nil {
		return nil, 0, err
	}
	version := Version(out.Value)
	if version < MinVersion {
		return nil, 0, &LoadError{Library: name,
			Reason: fmt.Sprintf("the driver supports CUDA %v, Tarn needs %v or newer", version, MinVersion)}
	}
	return t, version, nil
}
