package tensor

import "tarn/kernels"

// ReplaceKernels puts f around every launch until the function that it returns
// is called.
func (d *Device) ReplaceKernels(f func(id kernels.ID, run func() error) error) (restore func()) {
	old := d.table
	table := *old
	for i, op := range table {
		if op == nil {
			continue
		}
		wrapped := *op
		wrapped.Run = func(q kernels.Queue, a *kernels.Args) error {
			return f(op.ID, func() error { return op.Run(q, a) })
		}
		table[i] = &wrapped
	}
	d.table = &table
	return func() { d.table = old }
}

// Pointer returns the address of t's first element.
func Pointer(t *Tensor) uintptr { return t.view.Ptr }

// Elsewhere returns t with its elements at an address that is offset bytes on.
func Elsewhere(t *Tensor, offset uintptr) *Tensor {
	t.view.Ptr += offset
	return t
}

// Dangling returns a tensor on t's memory that holds nothing: to be used after t
// is released.
func Dangling(t *Tensor) *Tensor {
	st := &Storage{dev: t.dev, block: t.storage.block, home: t.storage.home}
	st.holds.Store(1 << 20)
	return &Tensor{dev: t.dev, storage: st, env: t.env, view: t.view}
}

// GraphDropped reports whether the garbage collector has found a graph that is
// open still.
func (d *Device) GraphDropped() bool { return d.graphs.dropped.Load() }
