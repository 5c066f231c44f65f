package cuda

import (
	"fmt"
	"strings"

	"tarn/cuda/internal/shim"
)

// The kinds of things that a context makes.
const (
	kindStream = iota
	kindEvent
	kindAllocation
	kindPinned
	kindRange
	kindPage
	kindModule
	kindGraph
	kindExec
	kinds
)

var kindNames = [kinds]string{"streams", "events", "allocations", "pinned allocations",
	"address ranges", "pages", "modules", "graphs", "executable graphs"}

// InUseError says what a context that is to be closed still has.
type InUseError struct {
	Device string
	Live   map[string]int64 // how many there are of each kind: "streams", "events", ...
}

func (e *InUseError) Error() string {
	var list []string
	for _, name := range kindNames {
		if n := e.Live[name]; n != 0 {
			list = append(list, fmt.Sprintf("%d %s", n, name))
		}
	}
	return fmt.Sprintf("cuda: %s cannot be closed: live are %s", e.Device, strings.Join(list, ", "))
}

// inUse returns nil where nothing is live.
func (c *Context) inUse() error {
	live := map[string]int64{}
	for i, name := range kindNames {
		if n := c.live[i].Load(); n != 0 {
			live[name] = n
		}
	}
	if len(live) == 0 {
		return nil
	}
	return &InUseError{Device: c.device.String(), Live: live}
}

// begin is a call that makes a thing of that kind.
func (c *Context) begin(kind int, e shim.Entry, a, b, x, y uint64) (uint64, error) {
	out, err := c.call(e, a, b, x, y)
	if err != nil {
		return 0, err
	}
	c.enter(kind, out.Value)
	return out.Value, nil
}

// enter puts a thing in the books.
func (c *Context) enter(kind int, handle uint64) {
	c.device.library.books.put(made{kind, handle}, c)
	c.live[kind].Add(1)
}

// end is a call that takes one away: out of the books of the context that made
// it, whichever is asked to. It leaves them first, since the driver may give the
// handle out again at once. A driver follows a handle that is no memory, so one
// that is not the context's own never gets there.
func (c *Context) end(kind int, e shim.Entry, a, b uint64) error {
	if err := c.usable(); err != nil {
		return err
	}
	books, key := &c.device.library.books, made{kind, a}
	maker := books.take(key, c)
	if maker == nil && !kindMemory[kind] {
		return refuse(e, InvalidHandle)
	}
	_, err := c.call(e, a, b, 0, 0)
	switch {
	case maker == nil: // memory of another library in the program
	case err != nil:
		books.put(key, maker)
	default:
		maker.live[kind].Add(-1)
	}
	return err
}
