//go:build !cgo || !(linux || darwin)

package cuda

// connect has no way to call a function.
func connect(name string, _ func(string) (uintptr, error), _ func() error) (*Library, error) {
	return nil, loadError(name, ErrNoLoader)
}
