// Package kernels names what is done to bytes: the ops, their operands and the
// seam through which every device runs them.
//
//	View   an operand: address, dtype, dims, strides in elements
//	Args   one call: outputs, inputs, workspace, scalars
//	ID     which op; the doc of each ID is the op's specification
//	Op     how one device does it: Workspace(args), Run(queue, args)
//	Table  a device's ops by ID
//
// A kernel knows no tensor and allocates nothing: the caller brings outputs
// and workspace. Every op takes strides; fast paths for dense operands are
// chosen inside Run. Run returns an error for arguments that the op cannot
// take (see [Error]) and has written nothing then; it never panics.
//
// Each op has several bodies that are tested against each other: kernels/ref
// (plain Go, slow and plainly right), kernels/cpu (C through cgo, plain Go
// without it) and kernels/gpu (CUDA C++, as PTX).
//
// The caller keeps the memory behind a View alive until Run returns, and on a
// stream until the work is done.
package kernels
