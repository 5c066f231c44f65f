package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestResultIsOneLine(t *testing.T) {
	r := result{
		Device: "cpu", Model: "x", TestAccuracy: 0.9834, Loss: []number{0.25, 0.30000000000000004, number(math.NaN()), number(math.Inf(1))},
		StepLoss: []number{2.5}, Seconds: 12.5, StepMicros: 810.25, PeakAllocated: 1 << 40, PeakReserved: 1<<53 - 1, GCReleased: 3,
	}
	var b strings.Builder
	require.NoError(t, r.writeJSON(&b))
	require.Equal(t, `{"device":"cpu","model":"x","test_accuracy":0.9834,"loss":[0.25,0.30000000000000004,null,null],`+
		`"step_loss":[2.5],"seconds":12.5,"step_us":810.25,"peak_allocated_bytes":1099511627776,"peak_reserved_bytes":9007199254740991,`+
		`"gc_released":3}`+"\n", b.String())
}

func TestResultOfNothing(t *testing.T) {
	var b strings.Builder
	require.NoError(t, (&result{}).writeJSON(&b))
	require.Contains(t, b.String(), `"loss":[]`)
}

// Losses that differ in the last bit are printed differently: two runs can be
// compared by their output.
func TestResultKeepsEveryBit(t *testing.T) {
	for _, x := range []float64{0.1, math.Pi, 1e-300, math.Nextafter(0.25, 1), float64(float32(0.3))} {
		var b strings.Builder
		require.NoError(t, (&result{Loss: []number{number(x)}}).writeJSON(&b))
		var back struct{ Loss []float64 }
		require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
		require.Equal(t, math.Float64bits(x), math.Float64bits(back.Loss[0]))
	}
}

func TestMedianMicros(t *testing.T) {
	us := time.Microsecond
	require.EqualValues(t, 7, medianMicros([]time.Duration{7 * us}))
	require.EqualValues(t, 2.5, medianMicros([]time.Duration{3 * us, 100 * us, 1 * us, 2 * us}))
	require.EqualValues(t, 2, medianMicros([]time.Duration{3 * us, 1 * us, 2 * us}))
	require.True(t, math.IsNaN(float64(medianMicros(nil))))

	steps := []time.Duration{3, 1, 2}
	medianMicros(steps)
	require.Equal(t, []time.Duration{3, 1, 2}, steps, "the order of the steps is kept")
}
