//go:build cgo && (linux || darwin)

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Goroutines that use two devices in turn, half of them on threads of their
// own. The fake driver refuses a stream, an event, an address or a kernel of
// another device than the current one's.
func TestThreads(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	t.Cleanup(func() { requireNothingLeft(t, l) })
	users := [2]*user{newUser(t, l, 0), newUser(t, l, 1)}
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for g := range errs {
		wg.Go(func() {
			if g%2 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for i := range 50 {
				u := users[(g+i)%2]
				errs[g] = errors.Join(errs[g], u.use(float32(g), float32(i)))
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// user runs kernels on one device.
type user struct {
	c *Context
	f *Function
}

func newUser(t *testing.T, l *Library, device int) *user {
	c := openDevice(t, l, device)
	return &user{c, function(t, load(t, c), "scale")}
}

// use multiplies two numbers, with a stream, an event and memory of its own.
func (u *user) use(a, b float32) error {
	c := u.c
	s, err := c.NewStream(0)
	e, err2 := c.NewEvent()
	p, err3 := c.Alloc(4)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	var bytes [4]byte
	binary.NativeEndian.PutUint32(bytes[:], math.Float32bits(a))
	err = errors.Join(c.Upload(s, p, bytes[:]), u.f.Prepare().Ptr(p).Int32(1).Float32(b).Run(s, one),
		c.Record(e, s), c.WaitEvent(0, e), c.SyncEvent(e), c.Download(0, bytes[:], p),
		c.Free(p), c.DestroyEvent(e), c.DestroyStream(s))
	if got := math.Float32frombits(binary.NativeEndian.Uint32(bytes[:])); got != a*b {
		err = errors.Join(err, fmt.Errorf("%v x %v = %v on %v", a, b, got, c.Device()))
	}
	return err
}
