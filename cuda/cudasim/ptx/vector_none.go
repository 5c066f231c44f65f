//go:build !amd64

package ptx

var (
	vectors32  map[string]op32
	vectors64  map[string]op64
	compares32 map[string]compare[uint32]
)

func scan(off, addresses *lanes64, delta, limit, size uint64) (union, outside, apart uint64) {
	return scanLanes(off, addresses, delta, limit, size)
}
