package memorytest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A trace file is little-endian: a header of four uint64, which are the events
// of the prelude, all events, the slots and the peak of the live bytes; then a
// record for each event: uint32 op<<8 | stream, uint32 slot, uint64 size. Op 0
// allocates and op 1 frees.
const (
	preludeAt, countAt, slotsAt, peakAt, headerBytes = 0, 8, 16, 24, 32
	streamAt, opAt, slotAt, sizeAt, recordBytes      = 0, 1, 4, 8, 16

	opAllocRecord, opFreeRecord = 0, 1
)

// TraceError says what is wrong with a trace, and where in its file.
type TraceError struct {
	Byte   int64 // from the start of the file
	Reason string
	Err    error // the reader's, if that failed; io.ErrUnexpectedEOF where the file ends too early
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("memorytest: trace, byte %d: %s", e.Byte, e.Reason)
}

// Unwrap returns Err.
func (e *TraceError) Unwrap() error { return e.Err }

// ReadTrace reads a trace file to its end. The trace has no name yet. What it
// returns can be replayed; the error is a [*TraceError]. It holds no more
// memory than a few times what r had and 64 KiB, whatever the header says.
func ReadTrace(r io.Reader) (*Trace, error) {
	var header [headerBytes]byte
	if n, err := io.ReadFull(r, header[:]); err != nil {
		return nil, cutShort(int64(n), "in the header", err)
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(header[at:]) }
	prelude, count, slots, peak := word(preludeAt), word(countAt), word(slotsAt), word(peakAt)
	if f := headerFault(prelude, count, slots); f != nil {
		return nil, &TraceError{Byte: f.at, Reason: f.reason}
	}
	events, err := readEvents(r, count)
	if err != nil {
		return nil, err
	}
	// count was all there, so that what is not above it is an int too.
	t := &Trace{Prelude: int(prelude), Slots: int(slots), PeakLive: int64(peak), Events: events}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}

func headerFault(prelude, count, slots uint64) *fault {
	switch {
	case prelude > count:
		return faultf(preludeAt, "a prelude of %d events where there are %d", prelude, count)
	case slots > count:
		return faultf(slotsAt, "%d slots where there are %d events to fill them", slots, count)
	}
	return nil
}

// readEvents reads count records and demands that nothing follows. It believes
// in a record when it has it.
func readEvents(r io.Reader, count uint64) ([]TraceEvent, error) {
	const chunk = 4096
	var events []TraceEvent
	buf := make([]byte, chunk*recordBytes)
	for left := count; left > 0; left = count - uint64(len(events)) {
		records := buf[:min(left, chunk)*recordBytes]
		if n, err := io.ReadFull(r, records); err != nil {
			at := recordAt(len(events)) + int64(n)
			return nil, cutShort(at, fmt.Sprintf("in the records of %d events", count), err)
		}
		for ; len(records) > 0; records = records[recordBytes:] {
			e, f := decodeEvent(records)
			if f != nil {
				return nil, &TraceError{Byte: recordAt(len(events)) + f.at, Reason: f.reason}
			}
			events = append(events, e)
		}
	}
	switch n, err := io.ReadFull(r, buf[:1]); {
	case n > 0:
		return nil, &TraceError{Byte: recordAt(len(events)), Reason: fmt.Sprintf("more follows after %d events", count)}
	case err != io.EOF:
		return nil, cutShort(recordAt(len(events)), "at the end", err)
	}
	return events, nil
}

func recordAt(event int) int64 { return headerBytes + recordBytes*int64(event) }

// cutShort is the error of a read that got up to the byte at.
func cutShort(at int64, where string, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &TraceError{Byte: at, Reason: "the file ends " + where, Err: io.ErrUnexpectedEOF}
	}
	return &TraceError{Byte: at, Reason: fmt.Sprintf("reading fails %s: %v", where, err), Err: err}
}

func decodeEvent(record []byte) (TraceEvent, *fault) {
	head := binary.LittleEndian.Uint32(record)
	op := head >> 8
	if op != opAllocRecord && op != opFreeRecord {
		return TraceEvent{}, faultf(opAt, "op %d is neither an alloc, 0, nor a free, 1", op)
	}
	return TraceEvent{
		Size:   int64(binary.LittleEndian.Uint64(record[sizeAt:])),
		Slot:   binary.LittleEndian.Uint32(record[slotAt:]),
		Stream: uint8(head),
		Free:   op == opFreeRecord,
	}, nil
}

// WriteTrace writes t as ReadTrace reads it. A trace that ReadTrace would
// refuse is not written; the error is then a [*TraceError], and w's otherwise.
func WriteTrace(w io.Writer, t *Trace) error {
	if err := t.check(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	le := binary.LittleEndian
	buf := make([]byte, 0, headerBytes)
	for _, word := range []int64{int64(t.Prelude), int64(len(t.Events)), int64(t.Slots), t.PeakLive} {
		buf = le.AppendUint64(buf, uint64(word))
	}
	out.Write(buf) // its error stays until Flush
	for _, e := range t.Events {
		op := uint32(opAllocRecord)
		if e.Free {
			op = opFreeRecord
		}
		buf = le.AppendUint32(buf[:0], op<<8|uint32(e.Stream))
		buf = le.AppendUint32(buf, e.Slot)
		buf = le.AppendUint64(buf, uint64(e.Size))
		out.Write(buf)
	}
	return out.Flush()
}

// check returns what is wrong with t as a [*TraceError], or nil.
func (t *Trace) check() error {
	// A negative number is a large one here.
	if f := headerFault(uint64(t.Prelude), uint64(len(t.Events)), uint64(t.Slots)); f != nil {
		return &TraceError{Byte: f.at, Reason: f.reason}
	}
	l := newLedger(t.Slots)
	for i, e := range t.Events {
		if f := l.enter(e); f != nil {
			return &TraceError{Byte: recordAt(i) + f.at, Reason: f.reason}
		}
	}
	if l.peak != t.PeakLive {
		return &TraceError{Byte: peakAt, Reason: fmt.Sprintf("a peak of %d live bytes, the events have one of %d", uint64(t.PeakLive), l.peak)}
	}
	return nil
}
