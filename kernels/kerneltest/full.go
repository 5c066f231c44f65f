//go:build full

package kerneltest

// full makes every call of every suite, whatever the time: with -tags full.
const full = true
