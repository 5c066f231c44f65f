//go:build !cgo || !(linux || darwin)

package dl

import (
	"fmt"
	"runtime"
)

// Library is an open shared library; this build has none.
type Library struct{}

// Open refuses: see ErrNoLoader.
func Open(string) (*Library, error) {
	switch runtime.GOOS {
	case "linux", "darwin":
		return nil, fmt.Errorf("%w: built without cgo; build with CGO_ENABLED=1 and a C compiler", ErrNoLoader)
	}
	return nil, fmt.Errorf("%w on %s", ErrNoLoader, runtime.GOOS)
}

// Symbol refuses: see ErrNoLoader.
func (*Library) Symbol(string) (uintptr, error) { return 0, ErrNoLoader }

// Close has nothing to close.
func (*Library) Close() error { return nil }
