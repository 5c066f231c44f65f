// Package dl opens shared libraries while the program runs. It knows nothing
// of CUDA. A build without cgo, or for a system that it has no loader for,
// has the same functions and refuses with [ErrNoLoader].
package dl

import "errors"

// ErrNoLoader means that this build cannot open shared libraries. The error
// that wraps it says why.
var ErrNoLoader = errors.New("no loader for shared libraries")
