package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tarn/cuda"
)

// device is what -device asks for. The zero value is auto.
type device struct {
	kind  string // "" is auto; cpu, cuda or sim
	index int    // of the CUDA device
}

func (d *device) String() string {
	switch d.kind {
	case "":
		return "auto"
	case "cuda":
		return fmt.Sprintf("cuda:%d", d.index)
	}
	return d.kind
}

// Set reads the flag's value.
func (d *device) Set(s string) error {
	kind, number, numbered := strings.Cut(s, ":")
	switch {
	case s == "auto":
		*d = device{}
	case s == "cpu" || s == "cuda" || s == "sim":
		*d = device{kind: s}
	case kind == "cuda" && numbered:
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no device number", number)
		}
		*d = device{kind: kind, index: int(n)}
	default:
		return errors.New("want auto, cpu, cuda, cuda:N or sim")
	}
	return nil
}

// driver is what there is of CUDA on this machine.
type driver struct {
	version string
	devices int
}

// cudaDriver really looks for the driver; the error is the system's or the
// driver's.
func cudaDriver() (driver, error) {
	l, err := cuda.Open()
	if err != nil {
		return driver{}, err
	}
	return driver{version: l.Version().String(), devices: l.Devices()}, nil
}

// choose returns a word to the user on what will run where, or an error that
// names what was tried. All that it can choose today is the CPU.
func (d *device) choose(look func() (driver, error)) (note string, err error) {
	switch d.kind {
	case "cpu":
		return "", nil
	case "sim":
		return "", errors.New("-device sim: this version of Tarn has no simulated GPU yet")
	}
	found, err := look()
	switch {
	case d.kind == "" && err != nil:
		return "found no CUDA driver to use, so the CPU it is (-device cuda says why)", nil
	case d.kind == "":
		return fmt.Sprintf("CUDA %s with %d devices is here, but this version of Tarn cannot compute on it yet: "+
			"the CPU it is", found.version, found.devices), nil
	case err != nil:
		return "", fmt.Errorf("-device %v: %w", d, err)
	case d.index >= found.devices:
		return "", fmt.Errorf("-device %v: the driver has only %d devices, counted from 0", d, found.devices)
	}
	return "", fmt.Errorf("-device %v: CUDA %s is here, but this version of Tarn cannot compute on it yet",
		d, found.version)
}
