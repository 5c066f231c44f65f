// Package shim is the one way to the CUDA driver: a C table of function
// pointers, and a few Go methods to call them. Who fills the table decides
// what answers: the symbols of libcuda.so.1, or any other functions with the
// same signatures. Argument packing and error paths are the same for all of
// them.
//
// shim.h lists the functions, [Entry] numbers them. The functions may call
// back into Go, so no cgo directive says that they do not, and none gets a
// pointer to a Go stack. A build without cgo has the same package with a
// [Table] that nothing can fill.
package shim
