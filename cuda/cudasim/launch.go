package cudasim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

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
	if code, err := f.check(at, len(args)); err != nil {
		slog.Error(fmt.Sprintf("cudasim: %s: cuLaunchKernel: %v: %v", s.context.device, code, err))
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

// check says what the driver makes of a launch with size bytes of arguments, and
// what it does not tell: what the kernel wanted. It is guarded by the machine.
func (f *function) check(at shape, size int) (cuda.Code, error) {
	k, threads := f.kernel, at.block.X*at.block.Y*at.block.Z
	if want := k.ParamBytes(); size != want {
		return cuda.InvalidValue, &ptx.LaunchError{Kernel: k.Name, Reason: fmt.Sprintf("the kernel takes %d bytes of arguments, the launch has %d", want, size)}
	}
	if at.shared > f.maxDynamic {
		return cuda.InvalidValue, &ptx.LaunchError{Kernel: k.Name, Reason: fmt.Sprintf("%d bytes of dynamic shared memory; the kernel may have %d", at.shared, f.maxDynamic)}
	}
	err := k.Check(at.grid, at.block, at.shared)
	switch {
	case err == nil:
		return cuda.Success, nil
	case threads > k.MaxThreads() && threads <= maxThreads:
		return outOfResources, err
	}
	return cuda.InvalidValue, err
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
	case errors.As(err, new(*ptx.StepsError)):
		return launchTimeout
	}
	return launchFailed
}
