// Package data turns files of examples into batches.
//
//	IDX    an array of bytes as MNIST's files hold it; [ReadIDX] reads one
//	Set    labelled images in Go's memory, as float32; [NewSet] makes it of two IDX
//	Order  the order of an epoch: a permutation fixed by seed and epoch
//	Batch  some of a set's examples as tensors; [Set.Batches] yields them
//
// What a file says is not believed before its bytes are there: a damaged or
// hostile file costs no more memory than it has bytes, and is refused with a
// [FormatError] that names the file and the byte.
//
// A Set is not changed by anything here, so many goroutines may read one.
package data
