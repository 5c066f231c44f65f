package upstreams

import (
	"fmt"
	"sync"

	"tarn/memory"
)

// Failing is an upstream that fails once, when told to.
type Failing struct {
	tap

	mu     sync.Mutex // guards all below
	name   Name       // of the calls that count
	left   int        // of those calls until the failure; 0 for none to come
	err    error      // what it returns
	struck *Name      // the call that failed, nil if none did since Set
}

// Fail returns an upstream whose n-th call, 1 being the first, returns err
// instead of being made on up. With n == 0 none does, until Set.
func Fail(up memory.Upstream, n int, err error) *Failing {
	f := &Failing{}
	f.tap = tap{up, f.call}
	f.Set(AnyCall, n, err)
	return f
}

// Set makes the n-th call of a name from now on, 1 being the next, return err
// instead of being made. It takes the place of what was set before, and
// forgets that it struck. With n == 0 no call fails. Arguments that make no
// sense are a mistake in the caller's code: they panic.
func (f *Failing) Set(name Name, n int, err error) {
	if n < 0 || n > 0 && err == nil || name != AnyCall && !name.known() {
		panic(fmt.Sprintf("upstreams: Set(%v, %d, %v): n counts from 1 and err is what the call returns", name, n, err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name, f.left, f.err, f.struck = name, n, err, nil
}

// Struck returns the call that failed, and whether one did since Set.
func (f *Failing) Struck() (Name, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.struck == nil {
		return AnyCall, false
	}
	return *f.struck, true
}

func (f *Failing) call(c *Call) {
	if c.Err = f.strike(c.Name); c.Err == nil {
		c.on(f.up)
	}
}

// strike counts a call and returns the error if it is the one to fail.
func (f *Failing) strike(name Name) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 || f.name != AnyCall && f.name != name {
		return nil
	}
	if f.left--; f.left > 0 {
		return nil
	}
	f.struck = &name
	return f.err
}
