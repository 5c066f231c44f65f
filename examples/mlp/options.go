package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// options are what the command line asks for, checked.
type options struct {
	device    device
	epochs    int
	batch     int
	hidden    []int // widths of the hidden layers, at least one
	optimizer string
	lr        float64 // at the first step; the optimizer's own where none was given
	seed      uint64
	limit     int // training examples; 0: all
	tests     int // test examples; 0: all
	capacity  int // MiB of the simulated device
	threads   int // 0: as many as there are cores
	json      bool
	noScope   bool
}

// learningRates are the optimizers and the learning rate of each where none
// is given.
var learningRates = map[string]float64{"sgd": 0.05, "adamw": 0.001}

// parseOptions reads the arguments after the program's name. Asked for help,
// it prints it to help and returns flag.ErrHelp.
func parseOptions(args []string, help io.Writer) (options, error) {
	o := options{epochs: 8, batch: 64, hidden: []int{256, 128}, optimizer: "sgd", seed: 1, capacity: 256}
	fs := flag.NewFlagSet("mlp", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, and printed once
	fs.Var(&o.device, "device", "`where` to run: auto, cpu, cuda, cuda:N or sim (default auto)")
	fs.Var(atLeast(&o.epochs, 1), "epochs", "`passes` over the training examples")
	fs.Var(atLeast(&o.batch, 1), "batch", "`examples` a step")
	fs.Var((*widths)(&o.hidden), "hidden", "`widths` of the hidden layers, separated by commas")
	fs.Var((*rate)(&o.lr), "lr", "learning `rate` at the first step; it falls to 0 at the last "+
		"(default 0.05 with sgd, 0.001 with adamw)")
	fs.Var((*optimizerName)(&o.optimizer), "optimizer", "`name` of the optimizer: sgd (with momentum 0.9) or adamw")
	fs.Uint64Var(&o.seed, "seed", o.seed, "`number` that fixes the weights at the start and the order of the examples")
	fs.Var(atLeast(&o.limit, 0), "limit", "train with the first `N` examples only; 0 for all")
	fs.Var(atLeast(&o.tests, 0), "tests", "test with the first `N` examples only; 0 for all")
	fs.Var(atLeast(&o.capacity, 1), "capacity", "`MiB` of memory of the simulated device, for -device sim")
	fs.Var(atLeast(&o.threads, 0), "threads", "`threads` that compute; 0 for as many as there are cores")
	fs.BoolVar(&o.json, "json", false, "print the results as one JSON object, in the last line")
	fs.BoolVar(&o.noScope, "no-scope", false, "leave what each step made to the garbage collector")

	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(help, "mlp trains a multilayer perceptron on MNIST. Its flags:")
		fs.SetOutput(help)
		fs.PrintDefaults()
		return options{}, err
	case err != nil:
		return options{}, fmt.Errorf("%w; mlp -help lists the flags", err)
	case fs.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q; mlp -help lists the flags", fs.Arg(0))
	}
	if o.lr == 0 {
		o.lr = learningRates[o.optimizer]
	}
	return o, nil
}

// The flag values below are set by flag.Parse, which puts the flag and the
// text in front of the errors.

// whole is a whole number with a lower bound.
type whole struct {
	value *int
	least int
}

func atLeast(value *int, least int) *whole { return &whole{value, least} }

func (w *whole) String() string {
	if w.value == nil {
		return "0"
	}
	return strconv.Itoa(*w.value)
}

func (w *whole) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < w.least {
		return fmt.Errorf("want a whole number, %d or more", w.least)
	}
	*w.value = n
	return nil
}

// rate is a learning rate; 0 means that none was given.
type rate float64

func (r *rate) String() string { return "" }

func (r *rate) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return errors.New("want a number above 0")
	}
	*r = rate(x)
	return nil
}

type optimizerName string

func (n *optimizerName) String() string { return string(*n) }

func (n *optimizerName) Set(s string) error {
	if _, ok := learningRates[s]; !ok {
		return errors.New("want sgd or adamw")
	}
	*n = optimizerName(s)
	return nil
}

type widths []int

func (w *widths) String() string {
	s := make([]string, len(*w))
	for i, n := range *w {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

func (w *widths) Set(s string) error {
	var parsed widths
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no width: want whole numbers above 0, as in 256,128", field)
		}
		parsed = append(parsed, n)
	}
	*w = parsed
	return nil
}
