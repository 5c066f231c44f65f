//go:build !full

package tensor_test

// full: no combination is left out. Else every layout has some of the samples,
// and the types beside float64 and float32 one in so many of them.
const full, every = false, 4
