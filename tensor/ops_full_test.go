//go:build full

package tensor_test

const full, every = true, 1
