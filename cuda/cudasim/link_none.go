//go:build !cgo || !(linux || darwin)

package cudasim

import "tarn/cuda"

// symbol finds nothing: the driver's functions are C.
func (*Machine) symbol(string) (uintptr, error) { return 0, cuda.ErrNoLoader }
