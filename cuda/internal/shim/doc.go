// Package shim is the one way to the CUDA driver: a C table of function
// pointers, and a Go method for each entry. Who fills the table decides what
// answers: the symbols of libcuda.so.1, or any other functions with the same
// signatures. Argument packing and error paths are the same for all of them.
//
// shim.h lists the entries. The package needs cgo; builds without it have no
// part of it.
package shim
