package cudasim

import "tarn/cuda"

// hostFunction is cuLaunchHostFunc: call runs on the stream's goroutine. It goes
// through C, so under the race detector it orders what is before it in the
// stream with all later calls of the host.
func (s *stream) hostFunction(call func()) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, code := s.submit(work{name: "cuLaunchHostFunc", kind: nodeHost, run: func() error {
		call()
		return nil
	}})
	return code
}
