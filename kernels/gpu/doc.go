// Package gpu runs the ops of package kernels on CUDA devices.
//
//	*.cu, *.cuh      the kernels, CUDA C++ that needs no CUDA headers
//	ptx/             what clang makes of them (make ptx), embedded
//	kernels.go       Kernels: the ops of one device
//	module.go        modules of PTX, loaded at first use, and their kernels
//	table.go         the table of ops
//	dtype.go         what there is one of for each element type; dtype.cuh for kernels
//	walk.go          dims and strides made simple before a launch
//	half.go          ops on float32 copies of half types
//	fault.go         what a kernel found wrong with the data
//	cublaslt.go      products by NVIDIA's library, where the user asks for it
//	packs.go         the launcher of map.cu, zip.cu, compare.cu and where.cu
//	others           the launchers, beside the .cu file of the same name
//
// An op's Run looks at the operands, chooses a kernel and queues it; it waits
// for nothing and allocates nothing on the Go heap. Results depend on operands
// alone: no kernel adds in an order that is left to chance, or that depends on
// how many multiprocessors there are. Products by cuBLASLt are as its package
// says.
package gpu
