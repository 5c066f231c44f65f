//go:build !cgo || !(linux || darwin)

package cuda

import "tarn/cuda/internal/dl"

// connect is never reached: dl.Open has refused. It exists so that Open reads
// the same in every build.
func connect(name string, _ *dl.Library) (*Library, error) {
	return nil, loadError(name, ErrNoLoader)
}
