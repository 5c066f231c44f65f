//go:build unix && !linux && !darwin

package hostmem

import (
	"fmt"
	"runtime"
)

func machineMemory() (int64, error) {
	return 0, fmt.Errorf("unknown way to ask %s for the machine's memory", runtime.GOOS)
}
