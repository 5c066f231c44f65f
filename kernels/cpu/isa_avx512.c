#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define VB 64
#define INSTANCE tarn_avx512
#include "isa.h"
#endif
