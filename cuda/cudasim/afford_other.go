//go:build !unix

package cudasim

func affordable(uint64) bool { return true }
