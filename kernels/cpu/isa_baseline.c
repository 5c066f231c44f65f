// What every processor of the architecture can do: SSE2, NEON.
#define TARGET
#define VB 16
#define INSTANCE tarn_baseline
#include "isa.h"
