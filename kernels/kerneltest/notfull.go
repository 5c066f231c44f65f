//go:build !full

package kerneltest

const full = false
