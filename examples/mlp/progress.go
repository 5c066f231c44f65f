package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far an epoch is: a bar on a terminal, nothing elsewhere,
// so that what goes to a pipe or a file is only the results. A nil progress
// shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// redraw is how often the bar is drawn at most: the training loop should not
// pay for it.
const redraw = 100 * time.Millisecond

// newProgress starts a bar of that many steps on w.
func newProgress(w io.Writer, title string, steps int) *progress {
	f, ok := w.(*os.File)
	if !ok || steps < 1 || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &progress{progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(title),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("steps"),
		progressbar.OptionThrottle(redraw),
		progressbar.OptionClearOnFinish(),
	)}
}

// step counts a step. What the bar cannot draw is no reason to stop training.
func (p *progress) step() {
	if p != nil {
		_ = p.bar.Add(1)
	}
}

// finish takes the bar away, so that the epoch's line can stand in its place.
func (p *progress) finish() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
