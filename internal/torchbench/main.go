//go:build unix

// Command torchbench times ops on the CPU for bench.py, which times PyTorch's
// beside them: it reads a request a line, in JSON, and answers each with the
// least milliseconds of a call.
//
//	{"op": "attention", "shape": [1, 8, 512, 512, 64], "flags": ["causal", "backward"], "threads": 1, "calls": 5}
//
// A file for each family of ops has what its shapes and flags mean.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"tarn/tensor"
)

// request asks for one op.
type request struct {
	Op      string
	Shape   []int
	Flags   []string
	Threads int
	Calls   int
}

func (r *request) has(flag string) bool { return slices.Contains(r.Flags, flag) }

// answer is the best of the calls, by each clock by itself.
type answer struct {
	Wall      float64 `json:"wall"`      // milliseconds
	Processor float64 `json:"processor"` // of all threads together
}

// ops make what is to be timed of a request, in a scope that is closed when it
// has been.
var ops = map[string]func(s *tensor.Scope, r *request) (call func() error, err error){
	"attention": attention,
	"batchnorm": batchnorm,
	"conv":      conv,
	"norms":     norms,
	"pool":      pool,
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "torchbench:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a, err := measure(&r)
		if err != nil {
			return fmt.Errorf("%s %v: %w", r.Op, r.Shape, err)
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// measure makes one call to warm up, and then those that count.
func measure(r *request) (best answer, err error) {
	make := ops[r.Op]
	if make == nil {
		return best, errors.New("no such op")
	}
	tensor.SetThreads(r.Threads)
	s := tensor.NewScope()
	defer func() { err = errors.Join(err, s.Close()) }()
	call, err := make(s, r)
	if err != nil {
		return best, err
	}
	best = answer{math.Inf(1), math.Inf(1)}
	for i := range r.Calls + 1 {
		wall, processor := time.Now(), processorTime()
		if err := call(); err != nil {
			return best, err
		}
		if i > 0 {
			best.Wall = min(best.Wall, milliseconds(time.Since(wall)))
			best.Processor = min(best.Processor, milliseconds(processorTime()-processor))
		}
	}
	return best, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// processorTime is what all threads of the process have used.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("torchbench: " + err.Error())
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// numbers returns a tensor of small numbers that differ.
func numbers(s *tensor.Scope, shape ...int) *tensor.Tensor {
	data := make([]float32, tensor.Shape(shape).Len())
	x := uint32(1)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = float32(x>>8)/(1<<23) - 1
	}
	return tensor.FromSlice(tensor.CPU().In(s), data, shape...)
}
