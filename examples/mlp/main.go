// Command mlp trains a multilayer perceptron on MNIST and prints what its
// memory went through. mlp -help lists the flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"tarn/memory"
	"tarn/tensor"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mlp:", err)
		os.Exit(1)
	}
}

// run is the program: results go to out, the progress bar to bar.
func run(args []string, out, bar io.Writer) (err error) {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	if o.threads > 0 {
		tensor.SetThreads(o.threads)
	}
	dev, err := o.device.open(int64(o.capacity) << 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.tidy(o.noScope)) }()
	if dev.note != "" {
		fmt.Fprintln(out, dev.note)
	}
	fmt.Fprintln(out, "training on", dev)

	t, err := newTraining(o, dev.Device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.release()) }()
	for epoch := range o.epochs {
		if err := t.epoch(epoch, out, bar); err != nil {
			return fmt.Errorf("epoch %d: %w", epoch+1, err)
		}
	}
	stats := dev.Memory().Stats()
	t.result.Device, t.result.Model = dev.Name(), dev.model
	t.result.StepMicros = medianMicros(t.steps)
	t.result.PeakAllocated = stats.AllocatedBytes.All.Peak
	t.result.PeakReserved = stats.ReservedBytes.All.Peak
	t.result.GCReleased = stats.GCReleased.Count
	fmt.Fprint(out, memory.Summary())
	if o.json {
		return t.result.writeJSON(out)
	}
	return nil
}
