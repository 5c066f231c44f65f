//go:build unix

package cudasim

import "syscall"

// affordable reports whether the process can have size bytes more. Go's own
// allocation would end the program where it cannot.
func affordable(size uint64) bool {
	const small = 256 << 20 // not worth the question
	if size < small {
		return true
	}
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return false
	}
	return syscall.Munmap(b) == nil
}
