//go:build !cgo || !(linux || darwin)

package cuda

import "tarn/cuda/internal/dl"

// table is the driver's functions; this build has none.
type table struct{}

// Missing returns nothing.
func (*table) Missing() []string { return nil }

// connect is never reached: dl.Open has refused. It exists so that Open reads
// the same in every build.
func connect(name string, _ *dl.Library) (*Library, error) {
	return nil, loadError(name, ErrNoLoader)
}
