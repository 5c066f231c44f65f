// Command oom trains with a batch that the device has no memory for. It catches
// the error, prints once what it says, and halves the batch until a step fits.
// The device is the CPU with a limit of 32 MiB.
package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"tarn/memory"
	"tarn/nn"
	"tarn/tensor"
)

const (
	limit    = 32 << 20
	batch    = 32 << 10 // examples a step, to start with
	steps    = 20
	features = 16
	hidden   = 256
	classes  = 4
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oom:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	dev, err := tensor.NewCPU(memory.Config{Limit: limit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	// With their stacks noted, the error says which lines have the memory.
	dev.Memory().RecordHistory(memory.History{Stacks: memory.AllStacks})
	t, err := newTraining(dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.optimizer.ZeroGrad(), t.optimizer.Release(), nn.Release(t.model)) }()

	size, told := batch, false
	for step := 0; step < steps; {
		loss, err := t.step(size)
		var oom *memory.OutOfMemoryError
		if errors.As(err, &oom) && size > 1 {
			if !told {
				fmt.Fprintf(out, "%v\n\n", oom)
				told = true
			}
			fmt.Fprintf(out, "a batch of %d does not fit: going on with %d\n", size, size/2)
			size /= 2
			continue
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		if step++; step == 1 || step == steps {
			fmt.Fprintf(out, "step %d, batch %d: loss %.2f\n", step, size, loss)
		}
	}
	s := dev.Memory().Stats()
	fmt.Fprintf(out, "%d requests failed, %d blocks were left to the collector\n", s.NumOOMs, s.GCReleased.Count)
	return nil
}

// training is a small network that learns which of four numbers is largest.
type training struct {
	dev       *tensor.Device
	model     *nn.Sequential
	optimizer *nn.SGD
	random    *rand.Rand
}

func newTraining(dev *tensor.Device) (*training, error) {
	r := rand.New(rand.NewPCG(1, 2))
	first, err := nn.NewLinear(dev, tensor.Float32, features, hidden, r)
	if err != nil {
		return nil, err
	}
	last, err := nn.NewLinear(dev, tensor.Float32, hidden, classes, r)
	if err != nil {
		return nil, err
	}
	model := nn.NewSequential(first, nn.ReLU{}, last)
	optimizer, err := nn.NewSGD(model.Parameters(), nn.SGDOptions{LR: 0.5})
	return &training{dev, model, optimizer, r}, err
}

// step is one training step. What it made is given back when it ends, after an
// error too, so that a smaller step can follow at once.
func (t *training) step(size int) (loss float64, err error) {
	s := tensor.NewScope()
	defer func() { err = errors.Join(err, s.Close()) }()
	x, y := t.examples(s, size)
	l := nn.CrossEntropy(t.model.Forward(x), y)
	if err := t.optimizer.ZeroGrad(); err != nil {
		return 0, err
	}
	if err := l.Backward(); err != nil {
		return 0, err
	}
	if err := t.optimizer.Step(); err != nil {
		return 0, err
	}
	return l.Item()
}

// examples returns random rows, and which of the first numbers of each is the
// largest.
func (t *training) examples(s *tensor.Scope, size int) (x, y *tensor.Tensor) {
	rows, largest := make([]float32, size*features), make([]int64, size)
	for i := range rows {
		rows[i] = t.random.Float32()
	}
	for i := range largest {
		row := rows[i*features : (i+1)*features]
		for j := range classes {
			if row[j] > row[largest[i]] {
				largest[i] = int64(j)
			}
		}
	}
	return tensor.FromSlice(t.dev.In(s), rows, size, features), tensor.FromSlice(t.dev.In(s), largest, size)
}
