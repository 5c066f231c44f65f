package cuda

import (
	"fmt"

	"tarn/cuda/internal/shim"
)

const captureRelaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED

// CaptureStatus says whether a stream is captured: CUstreamCaptureStatus.
type CaptureStatus int

// What a capture can be.
const (
	NotCapturing CaptureStatus = iota
	Capturing
	Invalidated // captured, and a call has spoilt it: EndCapture will fail
)

// String returns the status in a word.
func (s CaptureStatus) String() string {
	switch s {
	case NotCapturing:
		return "none"
	case Capturing:
		return "active"
	case Invalidated:
		return "invalidated"
	}
	return fmt.Sprintf("CaptureStatus(%d)", int(s))
}

// BeginCapture has the stream keep its work from now on, for a graph, rather
// than do it. A stream that waits for an event of the captured one joins the
// capture, and the captured one has to wait for it again before EndCapture.
//
// The mode is the driver's RELAXED one: it forbids nothing elsewhere. So the
// caller sees to it that memory which the capture uses outlives the graph. What
// cannot be captured, such as a wait for the stream, Upload and Download, fails
// with a code from 900 on and invalidates the capture.
func (c *Context) BeginCapture(s Stream) error {
	_, err := c.call(shim.BeginCapture, c.on(s), captureRelaxed, 0, 0)
	return err
}

// EndCapture returns what was captured. On an error there is no graph, and if the
// capture was invalidated or a stream has not come back, it is over all the same:
// the stream does its work again.
func (c *Context) EndCapture(s Stream) (*Graph, error) {
	handle, err := c.begin(kindGraph, shim.EndCapture, c.on(s), 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return &Graph{context: c, handle: uintptr(handle)}, nil
}

// Capturing tells the state of a stream. To ask does not harm a capture.
func (c *Context) Capturing(s Stream) (CaptureStatus, error) {
	out, err := c.call(shim.IsCapturing, c.on(s), 0, 0, 0)
	return CaptureStatus(out.Value), err
}
