package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// result is what a run comes to; -json prints it.
type result struct {
	Device        string   `json:"device"`
	Model         string   `json:"model"` // what the device is; "simulated"
	TestAccuracy  number   `json:"test_accuracy"`
	Loss          []number `json:"loss"`      // mean over the examples of each epoch
	StepLoss      []number `json:"step_loss"` // of each step
	Seconds       number   `json:"seconds"`   // of training, without loading and testing
	StepMicros    number   `json:"step_us"`   // median
	PeakAllocated int64    `json:"peak_allocated_bytes"`
	PeakReserved  int64    `json:"peak_reserved_bytes"`
	GCReleased    int64    `json:"gc_released"` // storages that the garbage collector had to free
}

// number is a float that may be NaN or infinite, as the loss of a run that
// diverged: JSON has no word for these, so they become null.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// writeJSON prints r as one line. The digits are as many as it takes to read
// the same bits back.
func (r *result) writeJSON(w io.Writer) error {
	if r.Loss == nil {
		r.Loss = []number{}
	}
	if r.StepLoss == nil {
		r.StepLoss = []number{}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

// medianMicros returns the median of the steps' times in microseconds, NaN of
// none.
func medianMicros(steps []time.Duration) number {
	if len(steps) == 0 {
		return number(math.NaN())
	}
	sorted := slices.Sorted(slices.Values(steps))
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = (sorted[half-1] + sorted[half]) / 2
	}
	return number(float64(median) / float64(time.Microsecond))
}
