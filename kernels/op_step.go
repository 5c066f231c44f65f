package kernels

// Optimiser steps.
const (
	// SGDStep updates many parameters with PyTorch's SGD, Attr.SGD. Parameter
	// i: Out[i] with gradient In[i] when momentum is 0; else Out[2i] parameter,
	// Out[2i+1] momentum buffer. Float.
	SGDStep = iota + endRows
	// AdamWStep updates many parameters with PyTorch's AdamW, Attr.AdamW.
	// Parameter i: Out[3i] parameter, Out[3i+1] and Out[3i+2] first and second
	// moment; gradient In[i]. Where Attr.AdamW.Step is 0, one more input, the
	// last, is an int64 of rank 0 that holds the step when the op is done; below
	// 1 it makes a result without meaning. Float.
	AdamWStep

	endSteps
)
