package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"tarn/cuda"
	"tarn/memory"
	"tarn/tensor"
)

// scale is how much is measured.
type scale struct {
	elements int   // of what elementwise ops read
	sides    []int // of matrices
	batches  []int // of the MLP
	calls    int   // in a round
	rounds   int
}

func scaleOf(quick bool) scale {
	if quick {
		return scale{elements: 1 << 12, sides: []int{64}, batches: []int{8}, calls: 2, rounds: 1}
	}
	return scale{elements: 64 << 20, sides: []int{256, 1024, 4096}, batches: []int{64, 256}, calls: 200, rounds: 7}
}

// meter measures on one device and prints each figure beside PyTorch's.
type meter struct {
	w      io.Writer
	scale  scale
	dev    *tensor.Device
	ctx    *cuda.Context
	theirs map[string]float64
}

// figures prints what ops, steps and the allocator reach.
func figures(w io.Writer, c *cuda.Context, s scale, theirs map[string]float64) (err error) {
	dev, err := tensor.NewCUDA(c, memory.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	m := &meter{w: w, scale: s, dev: dev, ctx: c, theirs: theirs}
	fmt.Fprintf(w, "\n%-24s %12s %12s %8s\n", "figure", "Tarn", "PyTorch", "ratio")
	for _, part := range []func() error{m.allocator, m.elementwise, m.products, m.tensorCores, m.training} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// say prints a figure under torch_bench.py's name of it.
func (m *meter) say(name string, value float64) {
	theirs, ok := m.theirs[name]
	if !ok {
		fmt.Fprintf(m.w, "%-24s %12.4g %12s\n", name, value, "-")
		return
	}
	fmt.Fprintf(m.w, "%-24s %12.4g %12.4g %8.2f\n", name, value, theirs, value/theirs)
}

// best returns the seconds that a call of f takes the device: the best of some
// rounds of n calls.
func (m *meter) best(n int, f func() error) (float64, error) { return m.time(n, f, true) }

// host returns the seconds that a call of f takes the host, whatever the device
// does meanwhile.
func (m *meter) host(n int, f func() error) (float64, error) { return m.time(n, f, false) }

func (m *meter) time(n int, f func() error, device bool) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	least := 0.0
	for round := range m.scale.rounds {
		if err := m.ctx.Synchronize(); err != nil {
			return 0, err
		}
		start := time.Now()
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		if device {
			if err := m.ctx.Synchronize(); err != nil {
				return 0, err
			}
		}
		if took := time.Since(start).Seconds() / float64(n); round == 0 || took < least {
			least = took
		}
	}
	return least, m.ctx.Synchronize()
}

// readTorch reads the figures that torch_bench.py printed, none of no file.
func readTorch(path string) (map[string]float64, error) {
	figures := map[string]float64{}
	if path == "" {
		return figures, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), "\t")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no figure", path, lines.Text())
		}
		figures[name] = value
	}
	return figures, lines.Err()
}
