package hostmem

import "golang.org/x/sys/unix"

func machineMemory() (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err
}
