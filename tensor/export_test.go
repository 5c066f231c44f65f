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
