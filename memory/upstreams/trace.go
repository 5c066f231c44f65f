package upstreams

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"tarn/memory"
)

// Tracing is an upstream that writes down its calls.
type Tracing struct {
	tap

	order sync.Mutex // held over a call and its line

	mu  sync.Mutex // guards the writer and err
	w   io.Writer
	err error
}

// Trace returns an upstream that writes every call to up as one line of JSON,
// with its arguments and results, for [Replay]. Numbers that are 0 and results
// that are false are left out:
//
//	{"call":"alloc","ptr":123145302311424,"size":512}
//	{"call":"free","ptr":123145302311424,"size":1,"err":"made with another size"}
//
// Calls are made one at a time, so that the lines have the order in which up
// saw them. A sync is not, for it may last: its line stands where it ended.
func Trace(up memory.Upstream, w io.Writer) *Tracing {
	t := &Tracing{w: w}
	t.tap = tap{up, t.call}
	return t
}

// line is a call as the file has it.
type line struct {
	Call
	Err string `json:"err,omitempty"` // never empty for a call that failed
}

func (t *Tracing) call(c *Call) {
	if c.Name != CallSyncEvent {
		t.order.Lock()
		defer t.order.Unlock()
	}
	c.on(t.up)
	t.write(c)
}

func (t *Tracing) write(c *Call) {
	l := line{Call: *c}
	if c.Err != nil {
		if l.Err = c.Err.Error(); l.Err == "" {
			l.Err = "failed"
		}
	}
	text, err := json.Marshal(&l)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	if err == nil {
		_, err = t.w.Write(append(text, '\n'))
	}
	if err != nil {
		t.err = fmt.Errorf("upstreams: trace of %v: %w", c.Name, err)
	}
}

// Err returns the first error of the writer. Nothing was written after it; the
// calls were made all the same.
func (t *Tracing) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
