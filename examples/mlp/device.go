package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
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

// opened is a device in use.
type opened struct {
	*tensor.Device
	model string
	note  string // for the user, what was chosen and why; may be empty
	close func() error
}

// tidy closes the device. What the garbage collector has not come to yet is no
// error where all was left to it.
func (o opened) tidy(leftToCollector bool) error {
	err := o.close()
	var live *memory.LiveBlocksError
	if leftToCollector && errors.As(err, &live) {
		return nil
	}
	return err
}

// open opens the device; a simulated one has a capacity in bytes.
func (d *device) open(capacity int64) (opened, error) {
	if d.kind == "sim" {
		dev, err := openSim(capacity)
		if err != nil {
			return opened{}, fmt.Errorf("-device sim: %w", err)
		}
		return dev, nil
	}
	dev, why, err := tensor.OpenDevice(d.String())
	if err != nil {
		return opened{}, fmt.Errorf("-device %v: %w", d, err)
	}
	o := opened{Device: dev, model: model(dev), close: func() error { return nil }} // others may have tensors there
	switch {
	case why != "":
		o.note = why + "; the CPU it is"
	case d.kind == "":
		o.note = "a CUDA device is here"
	}
	return o, nil
}

// openSim makes a machine with one simulated device.
func openSim(capacity int64) (o opened, err error) {
	m, err := cudasim.Open(cudasim.Config{Memory: capacity})
	if err != nil {
		return opened{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	device, err := m.Library().Device(0)
	if err != nil {
		return opened{}, err
	}
	c, err := device.Open()
	if err != nil {
		return opened{}, err
	}
	dev, err := tensor.NewCUDA(c, memory.Config{})
	if err != nil {
		return opened{}, errors.Join(err, c.Close())
	}
	// What the allocator took back, no kernel may touch.
	if err := dev.SetGuard(m); err != nil {
		return opened{}, errors.Join(err, dev.Close(), c.Close())
	}
	return opened{
		Device: dev,
		model:  "simulated",
		note:   "a simulated GPU runs the kernels of a real one, and checks each access to memory",
		close:  func() error { return errors.Join(dev.Close(), c.Close(), m.Close()) },
	}, nil
}

// String says what computes.
func (o opened) String() string { return fmt.Sprintf("%s (%s)", o.Device, o.model) }

// model says of a device that is real what it is.
func model(d *tensor.Device) string {
	if d == tensor.CPU() {
		isa, threads := tensor.CPUKernels()
		return fmt.Sprintf("%s kernels, %d threads", isa, threads)
	}
	for _, info := range tensor.Devices() {
		if info.Name == d.Name() {
			return info.Model
		}
	}
	return "unknown"
}
