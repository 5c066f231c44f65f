// Command gpureport measures a CUDA device as Tarn uses it: what the calls for
// virtual memory cost, how long the modules take to compile, and what ops, steps
// and the allocator reach, beside what PyTorch reaches there. It also runs on
// the simulator, where the figures mean nothing but that it works.
//
//	gpureport                      the first device
//	gpureport -torch torch.txt     beside what torch_bench.py printed there
//	gpureport -sim -quick          no GPU
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gpureport:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) (err error) {
	flags := flag.NewFlagSet("gpureport", flag.ContinueOnError)
	flags.SetOutput(w)
	name := flags.String("device", "0", "number or UUID of the device")
	sim := flags.Bool("sim", false, "a simulated device")
	quick := flags.Bool("quick", false, "small sizes, few rounds")
	torch := flags.String("torch", "", "file with what torch_bench.py printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	theirs, err := readTorch(*torch)
	if err != nil {
		return err
	}
	library, closeLibrary, err := openLibrary(*sim)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLibrary()) }()
	device, err := library.Find(*name)
	if err != nil {
		return err
	}
	c, err := device.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintf(w, "%v: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB; %s, CUDA %v\n",
		device, device.Name, device.Major, device.Minor, device.Multiprocessors, float64(device.Memory)/(1<<30),
		library.Name(), library.Version())
	if missing := library.Missing(); len(missing) > 0 {
		fmt.Fprintf(w, "the driver lacks: %v\n", missing)
	}
	if err := costs(w, c); err != nil {
		return fmt.Errorf("virtual memory: %w", err)
	}
	if err := compileTimes(w, c); err != nil {
		return fmt.Errorf("modules: %w", err)
	}
	if err := differences(w, c); err != nil {
		return fmt.Errorf("differences: %w", err)
	}
	return figures(w, c, scaleOf(*quick), theirs)
}

// openLibrary returns the driver, or a simulated one, and how to end its use.
func openLibrary(sim bool) (l *cuda.Library, end func() error, err error) {
	if !sim {
		l, err = cuda.Open()
		return l, func() error { return nil }, err
	}
	m, err := cudasim.Open(cudasim.Config{})
	if err != nil {
		return nil, nil, err
	}
	return m.Library(), m.Close, nil
}
