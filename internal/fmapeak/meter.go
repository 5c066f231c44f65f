package fmapeak

import (
	"runtime"
	"slices"
	"time"
)

// roundTime is how long a Meter times calls before it measures the peak again.
const roundTime = 15 * time.Millisecond

// Meter times calls of known work in short rounds, each beside a measurement of
// the peak: on a shared machine both go up and down together, and their ratio
// holds still. It reports the median round.
type Meter struct {
	work    float64        // operations of a call
	measure func() float64 // the peak, in operations a second
	pause   func()         // around a measurement: those of testing.B's timer
	resume  func()

	clock    func() time.Duration
	peak     float64 // of the present round
	started  time.Time
	calls    []time.Duration
	ratios   []float64 // time over the time at the peak, a round each
	flops    []float64
	peaksAll []float64
}

// NewMeter returns a meter of calls of work operations. pause and resume stop
// and start the clock of the benchmark that it runs in.
func NewMeter(work float64, pause, resume func()) *Meter {
	return &Meter{work: work, measure: func() float64 { return measure(2, 50_000) }, pause: pause, resume: resume, clock: wallTime}
}

var start = time.Now()

func wallTime() time.Duration { return time.Since(start) }

// CountThread makes m count the processor time of the calling thread, which the
// goroutine is locked to from then on, where the system can tell: what it lost
// to other programs is not the call's. It is for calls that use one thread.
func (m *Meter) CountThread() {
	if threadTime != nil {
		runtime.LockOSThread()
		m.clock = threadTime
	}
}

// Time runs f and notes how long it took.
func (m *Meter) Time(f func()) {
	if m.peak == 0 || time.Since(m.started) > roundTime {
		m.endRound()
		m.pause()
		m.peak = m.measure()
		m.resume()
		m.started = time.Now()
	}
	start := m.clock()
	f()
	m.calls = append(m.calls, m.clock()-start)
}

func (m *Meter) endRound() {
	if len(m.calls) == 0 || m.peak == 0 {
		m.calls = m.calls[:0]
		return
	}
	call := median(m.calls)
	m.calls = m.calls[:0]
	m.ratios = append(m.ratios, call.Seconds()*m.peak/m.work)
	m.flops = append(m.flops, m.work/call.Seconds())
	m.peaksAll = append(m.peaksAll, m.peak)
}

// Result returns the time of a call over that of its work at the peak, and both
// rates in operations a second; 0 in a build without C.
func (m *Meter) Result() (ratio, flops, peak float64) {
	m.endRound()
	if len(m.ratios) == 0 {
		return 0, 0, 0
	}
	return median(m.ratios), median(m.flops), median(m.peaksAll)
}

func median[T float64 | time.Duration](xs []T) T {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[len(sorted)/2]
}
