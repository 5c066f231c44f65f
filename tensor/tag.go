package tensor

import "tarn/memory"

// What the bytes of tensors are for, as the books of memory tell them apart. A
// tensor is data or a result when it is made, and becomes what it is then used
// as.
var (
	dataTag      = memory.NewTag("data")       // made from nothing: FromSlice, Zeros, ...
	resultTag    = memory.NewTag("results")    // made by an op
	parameterTag = memory.NewTag("parameters") // leaves
	gradientTag  = memory.NewTag("gradients")  // of leaves
)

// OptimizerState is the tag of what an optimiser keeps of each parameter.
var OptimizerState = memory.NewTag("optimizer state")

// SetTag says what t's bytes, and those of all its views, are for, so that the
// books and an out-of-memory error can name them.
func (t *Tensor) SetTag(tag memory.Tag) error {
	err := t.usable()
	if err == nil {
		err = t.storage.setTag(tag)
	}
	if err != nil {
		return newError("SetTag", err, t)
	}
	return nil
}

func (st *Storage) setTag(tag memory.Tag) error {
	if st.block.Ptr == 0 {
		return nil
	}
	return st.dev.mem.Retag(st.block.Handle, tag)
}
