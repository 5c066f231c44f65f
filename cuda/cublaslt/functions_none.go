//go:build !cgo || !(linux || darwin)

package cublaslt

import "tarn/cuda/internal/dl"

// find finds nothing: this build loads no libraries.
func find(*dl.Library) (functions, error) { return nil, dl.ErrNoLoader }
