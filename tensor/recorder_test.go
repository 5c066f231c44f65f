package tensor_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
)

// recorder is a device that claims to be asynchronous: it runs each op at once,
// so that values are right, and records in which order launches, marks and
// waits were queued. An event is done only when the test says so. Work of a
// stream that is captured is kept for the graph.
type recorder struct {
	memory.Upstream
	ops *kernels.Table

	mu       sync.Mutex
	log      []string
	marks    map[cuda.Event]string
	captured map[cuda.Event]bool // recorded on a stream that was captured
	done     bool                // all events are done
	graph    *recording          // under way
	joined   []cuda.Stream       // the streams that are captured
	refuse   error               // of the next EndCapture
}

// recording is what a graph of the recorder does.
type recording struct {
	r      *recorder
	work   []func() error
	closed bool
}

func newRecorder(t testing.TB) (*recorder, *tensor.Device) {
	up, err := hostmem.New(hostmem.Config{Capacity: 1 << 30})
	require.NoError(t, err)
	r := &recorder{Upstream: up, marks: map[cuda.Event]string{}, captured: map[cuda.Event]bool{}, ops: new(kernels.Table)}
	for i, op := range cpu.Table() {
		if op == nil {
			continue
		}
		wrapped := *op
		wrapped.Run = func(q kernels.Queue, a *kernels.Args) error { return r.run(op, q, a) }
		r.ops[i] = &wrapped
	}
	d, err := tensor.NewDevice(r.backend(), memory.Config{NoBackgroundGC: true})
	require.NoError(t, err)
	return r, d
}

func (r *recorder) run(op *kernels.Op, q kernels.Queue, a *kernels.Args) error {
	if !r.capturing(q.Stream()) {
		r.note("%v s%d", op.ID, q.Stream())
		return op.Run(q, a)
	}
	r.note("captured %v s%d", op.ID, q.Stream())
	kept := kernels.Args{Out: slices.Clone(a.Out), In: slices.Clone(a.In), Work: a.Work, Attr: a.Attr}
	r.graph.work = append(r.graph.work, func() error {
		again := kept
		return op.Run(q, &again)
	})
	return nil
}

func (r *recorder) capturing(s cuda.Stream) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.joined, s)
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// take returns what was recorded since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

func (r *recorder) Props() memory.Props {
	p := r.Upstream.Props()
	p.Name, p.Asynchronous = "recorder", true
	return p
}

func (r *recorder) RecordEvent(s cuda.Stream) (cuda.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := cuda.Event(len(r.marks) + 1)
	r.marks[e] = fmt.Sprintf("s%d", s)
	r.captured[e] = slices.Contains(r.joined, s)
	return e, nil
}

func (r *recorder) QueryEvent(cuda.Event) (bool, error) { return r.done, nil }

func (r *recorder) WaitEvent(s cuda.Stream, e cuda.Event) error {
	r.mu.Lock()
	if r.captured[e] && !slices.Contains(r.joined, s) {
		r.joined = append(r.joined, s)
	}
	r.mu.Unlock()
	r.note("s%d waits for %s", s, r.marks[e])
	return nil
}

func (r *recorder) SyncEvent(e cuda.Event) error {
	r.note("host waits for %s", r.marks[e])
	return nil
}

func (r *recorder) DestroyEvent(cuda.Event) error { return nil }

// backend is the recorder as a device: the host's copies and streams, the
// recorder's memory, ops and graphs.
func (r *recorder) backend() tensor.Backend {
	return recorderBackend{tensor.NewHostBackend(r.Upstream, r.ops), r}
}

type recorderBackend struct {
	tensor.Backend
	r *recorder
}

func (b recorderBackend) Upstream() memory.Upstream { return b.r }

func (b recorderBackend) Load() error { return nil }

func (b recorderBackend) BeginCapture(s cuda.Stream) error {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.r.graph, b.r.joined = &recording{r: b.r}, []cuda.Stream{s}
	return nil
}

func (b recorderBackend) EndCapture(cuda.Stream) (tensor.Recording, error) {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	g, err := b.r.graph, b.r.refuse
	b.r.graph, b.r.joined, b.r.refuse = nil, nil, nil
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (b recorderBackend) Synchronize(s cuda.Stream) error {
	b.r.note("host waits for stream %d", s)
	return nil
}

func (b recorderBackend) CloseStream(s cuda.Stream) error {
	b.r.note("s%d is closed", s)
	return nil
}

func (g *recording) Launch(s cuda.Stream) error {
	g.r.note("graph s%d", s)
	for _, work := range g.work {
		if err := work(); err != nil {
			return err
		}
	}
	return nil
}

func (g *recording) Close() error {
	g.closed = true
	return nil
}

// onStreams returns a device and two streams beside its default one.
func onStreams(t *testing.T) (r *recorder, d *tensor.Device, s1, s2 *tensor.Stream) {
	r, d = newRecorder(t)
	var err error
	s1, err = d.NewStream()
	require.NoError(t, err)
	s2, err = d.NewStream()
	require.NoError(t, err)
	return r, d, s1, s2
}
