package tensor

import (
	"fmt"
	"runtime"

	"tarn/kernels"
	"tarn/memory"
)

// launch runs op id on s. It is the one way to a kernel, so that the order
// cannot be forgotten anywhere: wait for conflicting uses, record this use,
// launch, keep the storages alive until the launch is done.
//
// a holds the views; outs and ins the storages behind them, for the ordering.
// A storage that is written as well as read stands in outs.
func (s *Stream) launch(id kernels.ID, a *kernels.Args, outs, ins []*Tensor) error {
	op := s.dev.table[id]
	if op == nil {
		return &kernels.Error{Op: id, Err: kernels.ErrNoOp, Detail: s.dev.name}
	}
	if err := s.open(); err != nil {
		return err
	}
	if c := s.dev.capture.Load(); c != nil {
		if err := c.admit(s, outs, ins); err != nil {
			return err
		}
	}
	work, err := s.workspace(op, a)
	if err != nil {
		return err
	}
	switch c := s.capture.Load(); {
	case c != nil:
		err = s.launchRecorded(c, op, a, outs, ins)
	case s.dev.async:
		err = s.launchOrdered(op, a, outs, ins)
	default:
		err = op.Run(s.queue, a)
	}
	runtime.KeepAlive(outs)
	runtime.KeepAlive(ins)
	if work.Ptr != 0 {
		if e := s.dev.mem.Free(work.Handle); err == nil {
			err = e
		}
	}
	return err
}

// workspace allocates what op needs beside its operands. It is freed right
// after the launch: a later use of the block on this stream comes after it.
func (s *Stream) workspace(op *kernels.Op, a *kernels.Args) (memory.Block, error) {
	if op.Workspace == nil {
		return memory.Block{}, nil
	}
	size := op.Workspace(a)
	if size == 0 {
		return memory.Block{}, nil
	}
	block, err := s.alloc(size, memory.Workspace)
	if err != nil {
		return block, fmt.Errorf("workspace of %v: %w", op.ID, err)
	}
	a.Work = kernels.View{Ptr: uintptr(block.Ptr), DType: kernels.Float32, Rank: 1}
	a.Work.Dims[0], a.Work.Strides[0] = size/4, 1
	return block, nil
}

// launchOrdered is launch on a device where work goes on after the call.
func (s *Stream) launchOrdered(op *kernels.Op, a *kernels.Args, outs, ins []*Tensor) error {
	var buf [8]use
	before := buf[:0]
	for _, t := range ins {
		before = t.storage.before(s, false, before)
	}
	for _, t := range outs {
		before = t.storage.before(s, true, before)
	}
	u, err := s.begin(before)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, t := range ins {
		t.storage.record(u, false)
	}
	for _, t := range outs {
		t.storage.record(u, true)
	}
	return op.Run(s.queue, a)
}

// begin makes s wait on the device for the uses before, and returns the use that
// what the caller queues next is. Without an error mu is held: the sequence
// number, the record and the launch are one step under it, so that an event
// recorded by a stream that waits covers the launch.
func (s *Stream) begin(before []use) (use, error) {
	for _, u := range before {
		if err := s.waitFor(u); err != nil {
			return use{}, err
		}
	}
	s.mu.Lock()
	if err := s.open(); err != nil {
		s.mu.Unlock()
		return use{}, err
	}
	s.seq++
	return use{s, s.seq}, nil
}

// launchRecorded is launch in a capture.
func (s *Stream) launchRecorded(c *capture, op *kernels.Op, a *kernels.Args, outs, ins []*Tensor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.note(s, outs, ins)
	if err == nil {
		err = op.Run(s.queue, a)
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

// touch orders a copy between the host and t's bytes on s as a launch would be.
func (s *Stream) touch(t *Tensor, writes bool, do func() error) error {
	defer runtime.KeepAlive(t)
	if err := s.open(); err != nil {
		return err
	}
	if c := s.dev.capture.Load(); c != nil {
		if err := c.refuse(s, t); err != nil {
			return err
		}
	}
	if !s.dev.async {
		return do()
	}
	u, err := s.begin(t.storage.before(s, writes, nil))
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	t.storage.record(u, writes)
	return do()
}
