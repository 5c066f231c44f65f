#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define VB 32
#define INSTANCE tarn_avx2
#include "isa.h"
#endif
