// The same for a target that has instructions for __bf16.
#include "half.cu"
