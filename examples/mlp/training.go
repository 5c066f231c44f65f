package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tarn/examples/internal/mnist"
	"tarn/nn"
	"tarn/nn/data"
	"tarn/tensor"
)

// testBatch is how many test images are classified at once.
const testBatch = 500

// training is a run: the data, the model, and what came of it so far.
type training struct {
	options
	dev         *tensor.Device
	train, test *data.Set
	model       *nn.Sequential
	optimizer   nn.Optimizer
	setLR       func(lr float64)
	releaseOpt  func() error
	step, total int // steps done, and of the whole run
	steps       []time.Duration
	result      result
}

func newTraining(o options, dev *tensor.Device) (*training, error) {
	t := &training{options: o, dev: dev}
	var err error
	if t.train, err = mnist.Train(); err != nil {
		return nil, err
	}
	if t.test, err = mnist.Test(); err != nil {
		return nil, err
	}
	if o.limit > 0 {
		if t.train, err = t.train.Head(o.limit); err != nil {
			return nil, err
		}
	}
	if o.tests > 0 {
		if t.test, err = t.test.Head(o.tests); err != nil {
			return nil, err
		}
	}
	batches, err := t.batches(0).Batches(t.train.Len())
	if err != nil {
		return nil, err
	}
	t.total = batches * o.epochs
	if t.model, err = newModel(dev, t.train.Features(), o.hidden, mnist.Classes, o.seed); err != nil {
		return nil, err
	}
	return t, t.newOptimizer()
}

// newModel returns Linear layers with a ReLU between any two.
func newModel(dev *tensor.Device, in int, hidden []int, out int, seed uint64) (*nn.Sequential, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	model := nn.NewSequential()
	for _, width := range append(hidden[:len(hidden):len(hidden)], out) {
		if len(model.Modules) > 0 {
			model.Modules = append(model.Modules, nn.ReLU{})
		}
		layer, err := nn.NewLinear(dev, tensor.Float32, in, width, r)
		if err != nil {
			return nil, err
		}
		model.Modules = append(model.Modules, layer)
		in = width
	}
	return model, nil
}

func (t *training) newOptimizer() error {
	params := t.model.Parameters()
	if t.options.optimizer == "adamw" {
		o := nn.DefaultAdamW()
		o.LR = t.lr
		a, err := nn.NewAdamW(params, o)
		if err != nil {
			return err
		}
		t.optimizer, t.setLR, t.releaseOpt = a, func(lr float64) { a.Options.LR = lr }, a.Release
		return nil
	}
	s, err := nn.NewSGD(params, nn.SGDOptions{LR: t.lr, Momentum: 0.9})
	if err != nil {
		return err
	}
	t.optimizer, t.setLR, t.releaseOpt = s, func(lr float64) { s.Options.LR = lr }, s.Release
	return nil
}

// release gives the model and what the optimizer keeps of it back.
func (t *training) release() error { return errors.Join(t.releaseOpt(), nn.Release(t.model)) }

func (t *training) batches(epoch int) data.BatchOptions {
	return data.BatchOptions{Size: t.batch, Shuffle: true, Seed: t.seed, Epoch: epoch}
}

// epoch goes once over the training set, tests, and prints a line.
func (t *training) epoch(epoch int, out, barOut io.Writer) error {
	bar := newProgress(barOut, fmt.Sprintf("epoch %d/%d", epoch+1, t.epochs), t.total/t.epochs)
	start := time.Now()
	var loss float64
	var right int
	for b, err := range t.train.Batches(t.dev, t.batches(epoch)) {
		if err != nil {
			return err
		}
		began := time.Now()
		l, n, err := t.update(b)
		if err != nil {
			return fmt.Errorf("step %d: %w", t.step, err)
		}
		t.steps = append(t.steps, time.Since(began))
		t.result.StepLoss = append(t.result.StepLoss, number(l))
		loss += l * float64(b.Y.Len())
		right += n
		bar.step()
	}
	bar.finish()
	seconds := time.Since(start).Seconds()
	accuracy, err := t.accuracy(t.test)
	if err != nil {
		return fmt.Errorf("test: %w", err)
	}
	loss /= float64(t.train.Len())
	fmt.Fprintf(out, "epoch %d/%d  loss %.4f  training accuracy %.4f  test accuracy %.4f  %.1f s\n",
		epoch+1, t.epochs, loss, float64(right)/float64(t.train.Len()), accuracy, seconds)
	t.result.Loss = append(t.result.Loss, number(loss))
	t.result.Seconds += number(seconds)
	t.result.TestAccuracy = number(accuracy)
	return nil
}

// update is one training step. It returns the loss and how many examples the
// model had right before the step.
func (t *training) update(b data.Batch) (loss float64, right int, err error) {
	x := b.X
	if !t.noScope {
		s := tensor.NewScope()
		defer func() {
			if e := s.Close(); err == nil {
				err = e
			}
		}()
		x = x.In(s)
	}
	logits := t.model.Forward(x)
	l := nn.CrossEntropy(logits, b.Y)
	if err := t.optimizer.ZeroGrad(); err != nil {
		return 0, 0, err
	}
	if err := l.Backward(); err != nil {
		return 0, 0, err
	}
	t.setLR(t.lr * (1 - float64(t.step)/float64(t.total)))
	t.step++
	if err := t.optimizer.Step(); err != nil {
		return 0, 0, err
	}
	if loss, err = l.Item(); err != nil {
		return 0, 0, err
	}
	right, err = count(logits, b.Y)
	return loss, right, err
}

// accuracy is the share of s that the model classifies right.
func (t *training) accuracy(s *data.Set) (float64, error) {
	right := 0
	for b, err := range s.Batches(t.dev, data.BatchOptions{Size: testBatch}) {
		if err != nil {
			return 0, err
		}
		scope := tensor.NewScope()
		n, err := count(t.model.Forward(b.X.In(scope).NoGrad()), b.Y)
		if e := scope.Close(); err == nil {
			err = e
		}
		if err != nil {
			return 0, err
		}
		right += n
	}
	return float64(right) / float64(s.Len()), nil
}

// count returns how many rows of logits are largest at their class.
func count(logits, classes *tensor.Tensor) (int, error) {
	guesses, err := tensor.Data[int64](logits.ArgMax(1))
	if err != nil {
		return 0, err
	}
	want, err := tensor.Data[int64](classes)
	if err != nil {
		return 0, err
	}
	n := 0
	for i, g := range guesses {
		if g == want[i] {
			n++
		}
	}
	return n, nil
}
