package cublaslt

import (
	"errors"
	"fmt"
	"sync"

	"tarn/cuda"
)

// maxPlans is how many plans are kept, each of about a kilobyte. If there is
// one more all are forgotten: whose shapes change so much gains little by any.
const maxPlans = 4096

// plan is what the library said of a product: how it does it, or that it does
// not.
type plan struct {
	handle    uintptr
	workspace int64
	err       error      // matches ErrNotSupported; handle is 0 then
	bias      sync.Mutex // held while the address of a bias stands in the plan
}

// Workspace returns the bytes that Run needs for the product. They depend on
// how the addresses of the operands are aligned. The library is asked when it
// has not been, which takes long and allocates nothing on the device.
func (l *Library) Workspace(p Product) (int64, error) {
	s, _, _, err := p.columns()
	if err != nil {
		return 0, err
	}
	found, err := l.hold(&s, p.Bias.Ptr)
	if err != nil {
		return 0, err
	}
	defer l.lock.RUnlock()
	return found.workspace, nil
}

// Run queues the product in a stream. work is the workspace, aligned to 256
// bytes. The error matches [ErrNotSupported] where the library has no way to
// do it, and is an [*Error] or that of the device else.
func (l *Library) Run(s cuda.Stream, p Product, work cuda.DevicePtr) error {
	seen, a, b, err := p.columns()
	if err != nil {
		return err
	}
	found, err := l.hold(&seen, p.Bias.Ptr)
	if err != nil {
		return err
	}
	defer l.lock.RUnlock()
	if found.workspace > 0 && (work == 0 || work%maxAlignment != 0) {
		return fmt.Errorf("cublaslt: workspace of %d bytes at %#x, want a multiple of %d", found.workspace, uintptr(work), maxAlignment)
	}
	d, err := l.device()
	if err != nil {
		return err
	}
	if s == 0 {
		s = l.context.Default()
	}
	if p.Bias.Ptr != 0 {
		found.bias.Lock()
		defer found.bias.Unlock()
	}
	err = l.check(l.call.run(d, found.handle, uintptr(a), uintptr(b), uintptr(p.Out.Ptr), uintptr(p.Bias.Ptr),
		uintptr(work), uintptr(s)))
	if err != nil {
		return l.explain(s, err)
	}
	return l.context.Launched(s)
}

// explain looks whether a run failed because the device is lost: the library has
// one code for that and for much else.
func (l *Library) explain(s cuda.Stream, err error) error {
	var refused *Error
	if errors.As(err, &refused) && refused.Code == executionFailed {
		_, _ = l.context.QueryStream(s) // it notices
	}
	if lost := l.context.Lost(); lost != nil {
		return lost
	}
	return err
}

// hold returns the plan for a product. If there is no error the lock is held for
// reading, so that nobody takes the plan away.
func (l *Library) hold(s *shape, bias cuda.DevicePtr) (*plan, error) {
	for {
		l.lock.RLock()
		found := l.plans[*s]
		if found != nil && found.err == nil {
			return found, nil
		}
		l.lock.RUnlock()
		if found != nil {
			return nil, found.err
		}
		if err := l.ask(*s, bias); err != nil {
			return nil, err
		}
	}
}

// ask makes a plan, unless another has.
func (l *Library) ask(s shape, bias cuda.DevicePtr) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.handle == 0 {
		return fmt.Errorf("cublaslt: %w", cuda.ErrClosed)
	}
	if l.plans[s] != nil {
		return nil
	}
	d, err := l.device()
	if err != nil {
		return err
	}
	made := new(plan)
	var o outcome
	made.handle, made.workspace, o = l.call.plan(d, l.handle, s, uintptr(bias), l.most)
	if err := l.check(o); errors.Is(err, ErrNotSupported) {
		made.err = err
	} else if err != nil {
		return err
	}
	if len(l.plans) >= maxPlans {
		err = l.forget()
	}
	l.plans[s] = made
	return err
}

// forget takes all plans away; the lock is held for writing.
func (l *Library) forget() (err error) {
	for _, p := range l.plans {
		if p.handle == 0 {
			continue
		}
		if e := l.check(l.call.drop(p.handle)); err == nil {
			err = e
		}
	}
	clear(l.plans)
	return err
}
