package upstreams

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"tarn/cuda"
	"tarn/memory"
)

// Difference is a call that failed in a trace and not in its replay, or the
// other way round.
type Difference struct {
	Line     int  // of the trace, from 1
	Recorded Call // in the trace's addresses, pages and events
	Replayed Call // in those of the replay
}

func (d *Difference) String() string {
	return fmt.Sprintf("line %d: recorded %v; replayed %v", d.Line, &d.Recorded, &d.Replayed)
}

// TraceError says that a line is not one that [Trace] writes.
type TraceError struct {
	Line int // from 1
	Err  error
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("upstreams: trace line %d: %v", e.Line, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *TraceError) Unwrap() error { return e.Err }

// Replay makes the calls of a trace on up, one after the other. Where a call
// names an address, a page or an event, it is that which up gave for the
// recorded one; what was not live in the trace becomes 0, which every upstream
// refuses. Replay ends with the file or at the first difference in success and
// returns that, nil if there is none. What the calls until then took and did
// not give back is left as it is. The error is of the file: a [TraceError] or
// that of the reader.
func Replay(r io.Reader, up memory.Upstream) (*Difference, error) {
	lines := bufio.NewReader(r)
	replayed := translation{pages: make(map[memory.Page]memory.Page), events: make(map[cuda.Event]cuda.Event)}
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("upstreams: trace line %d: %w", n, err)
		}
		if len(text) == 0 {
			return nil, nil
		}
		recorded, err := parse(text)
		if err != nil {
			return nil, &TraceError{n, err}
		}
		c := replayed.of(recorded)
		c.on(up)
		if (c.Err == nil) != (recorded.Err == nil) {
			return &Difference{n, recorded, c}, nil
		}
		if c.Err == nil {
			replayed.note(&recorded, &c)
		}
	}
}

// parse reads one line.
func parse(text []byte) (Call, error) {
	l := line{Call: Call{Name: AnyCall}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("empty")
		}
		return Call{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Call{}, errors.New("more than one value")
	}
	if !l.Name.known() {
		return Call{}, errors.New("names no call")
	}
	if l.Err != "" {
		l.Call.Err = errors.New(l.Err)
	}
	return l.Call, nil
}

// translation says what recorded names stand for in the replay.
type translation struct {
	spans  []span // live, by recorded address; they do not overlap
	pages  map[memory.Page]memory.Page
	events map[cuda.Event]cuda.Event
}

// span is an allocation or a range.
type span struct {
	recorded, replayed cuda.DevicePtr
	size               int64
}

// of returns the call to make for a recorded one.
func (t *translation) of(recorded Call) Call {
	c := Call{Name: recorded.Name, Size: recorded.Size, Stream: recorded.Stream}
	if !recorded.result(hasPtr) {
		c.Ptr = t.ptr(recorded.Ptr)
	}
	if !recorded.result(hasPage) {
		c.Page = t.pages[recorded.Page]
	}
	if !recorded.result(hasEvent) {
		c.Event = t.events[recorded.Event]
	}
	return c
}

// ptr translates an address, which may lie inside a span.
func (t *translation) ptr(p cuda.DevicePtr) cuda.DevicePtr {
	i := t.after(p) - 1
	if i < 0 || uint64(p-t.spans[i].recorded) >= uint64(t.spans[i].size) {
		return 0
	}
	return t.spans[i].replayed + (p - t.spans[i].recorded)
}

// after returns the index of the first span that starts above p.
func (t *translation) after(p cuda.DevicePtr) int {
	i, _ := slices.BinarySearchFunc(t.spans, p, func(s span, p cuda.DevicePtr) int {
		if s.recorded <= p {
			return -1
		}
		return 1
	})
	return i
}

// note learns what a call that succeeded made, and forgets what it ended.
func (t *translation) note(recorded, c *Call) {
	switch c.Name {
	case CallAlloc, CallReserve:
		t.spans = slices.Insert(t.spans, t.after(recorded.Ptr), span{recorded.Ptr, c.Ptr, c.Size})
	case CallFree, CallReleaseRange:
		if i := t.after(recorded.Ptr) - 1; i >= 0 && t.spans[i].recorded == recorded.Ptr {
			t.spans = slices.Delete(t.spans, i, i+1)
		}
	case CallCreate:
		t.pages[recorded.Page] = c.Page
	case CallRelease:
		delete(t.pages, recorded.Page)
	case CallRecordEvent:
		t.events[recorded.Event] = c.Event
	case CallDestroyEvent:
		delete(t.events, recorded.Event)
	}
}
