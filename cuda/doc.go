// Package cuda names the things of the CUDA driver API that the rest of Tarn
// passes around: device addresses, streams, events. They are plain integers,
// so that packages which only carry them (memory, kernels) need no C.
//
// Importing this package loads nothing. [Open] looks for the driver when it is
// asked to.
package cuda
