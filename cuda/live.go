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
	c.live[kind].Add(1)
	return out.Value, nil
}

// end is a call that takes one away.
func (c *Context) end(kind int, e shim.Entry, a, b uint64) error {
	_, err := c.call(e, a, b, 0, 0)
	if err == nil {
		c.live[kind].Add(-1)
	}
	return err
}
