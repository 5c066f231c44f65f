// Package lint holds the rules of this repository that the compiler does not
// know, as a test: go test ./internal/lint.
//
//	imports   the layers: examples, nn, tensor, memory and kernels, cuda
//	modules   which dependency may be used where
//	loader    who may load the CUDA driver
//	cleanup   one file adds cleanups; nobody sets finalizers
//	launch    one file of package tensor runs ops
//	exit      nothing ends the program but func main
//	panic     a panic's text starts with its package
//	sleep     tests do not sleep
//	doc       packages and exported names have doc comments
//	size      a file can be read in one sitting
//	words     no notes to self
//	gofmt     formatted
//
// [Rules] has each rule's reason, and a test that each rule can fail.
//
// The files are read as they lie there, and not asked of go list: that one
// sees the files of one platform and one set of build tags, and the rules hold
// for all of them.
package lint
