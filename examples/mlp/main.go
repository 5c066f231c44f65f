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
func run(args []string, out, bar io.Writer) error {
	o, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	note, err := o.device.choose(cudaDriver)
	if err != nil {
		return err
	}
	if o.threads > 0 {
		tensor.SetThreads(o.threads)
	}
	dev := tensor.CPU()
	if note != "" {
		fmt.Fprintln(out, note)
	}
	isa, threads := tensor.CPUKernels()
	fmt.Fprintf(out, "training on %s (%s kernels, %d threads)\n", dev, isa, threads)

	t, err := newTraining(o, dev)
	if err != nil {
		return err
	}
	for epoch := range o.epochs {
		if err := t.epoch(epoch, out, bar); err != nil {
			return fmt.Errorf("epoch %d: %w", epoch+1, err)
		}
	}
	stats := dev.Memory().Stats()
	t.result.Device = dev.Name()
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
