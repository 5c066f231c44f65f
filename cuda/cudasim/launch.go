package cudasim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"tarn/cuda"
	"tarn/cuda/cudasim/ptx"
)

// shape is how a kernel is launched.
type shape struct {
	grid, block ptx.Dim3
	shared      int // bytes, dynamic
}

// launch is cuLaunchKernel. args are the packed arguments.
func (s *stream) launch(f *function, at shape, args []byte) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.module.context != s.context {
		return cuda.InvalidHandle
	}
	if code := f.check(at, len(args)); code != cuda.Success {
		return code
	}
	d, k := s.context.device, f.kernel
	_, code := s.submit(work{name: "cuLaunchKernel", kind: nodeKernel, of: f.module, uses: append(m.space.pointedAt(args), &f.module.use), run: func() error {
		return k.Launch(at.grid, at.block, at.shared, args, d.view())
	}})
	return code
}

// pointedAt is what a kernel uses as far as its arguments say: each that is the
// address of something.
func (s *space) pointedAt(args []byte) (all []*usage) {
	for ; len(args) >= 8; args = args[8:] {
		p := binary.NativeEndian.Uint64(args)
		if i := s.index(p); i > 0 && p < s.regions[i-1].end() {
			all = append(all, &s.regions[i-1].use)
		}
	}
	return all
}

func (f *function) check(at shape, size int) cuda.Code {
	g, b := at.grid, at.block
	switch {
	case g.X < 1 || g.Y < 1 || g.Z < 1 || g.X > 1<<31-1 || g.Y > 65535 || g.Z > 65535:
		return cuda.InvalidValue
	case b.X < 1 || b.Y < 1 || b.Z < 1 || b.X > 1024 || b.Y > 1024 || b.Z > 64 || b.X*b.Y*b.Z > 1024:
		return cuda.InvalidValue
	case at.shared > f.maxDynamic || size != f.kernel.ParamBytes():
		return cuda.InvalidValue
	case b.X*b.Y*b.Z > f.kernel.MaxThreads():
		return outOfResources
	case !f.takes(at):
		return cuda.InvalidValue
	}
	return cuda.Success
}

// takes reports whether the kernel was compiled for such blocks, which is the
// interpreter's to say: it is asked for a launch that it refuses for its arguments
// at the latest. It is guarded by the machine.
func (f *function) takes(at shape) bool {
	if at == f.taken {
		return true
	}
	tooMany := f.kernel.ParamBytes() + 1
	err := f.kernel.Launch(at.grid, at.block, at.shared, make([]byte, tooMany), new(snapshot))
	var refused *ptx.LaunchError
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, fmt.Sprintf("%d bytes of parameters", tooMany)) {
		return false
	}
	f.taken = at
	return true
}

// codeOf is what the driver says of work that failed.
func codeOf(err error) cuda.Code {
	var access *ptx.AccessError
	switch {
	case errors.As(err, &access):
		if access.Size > 0 && access.Address%uint64(access.Size) != 0 {
			return misalignedAddress
		}
		return illegalAddress
	case errors.As(err, new(*AccessError)):
		return illegalAddress
	}
	return launchFailed
}
