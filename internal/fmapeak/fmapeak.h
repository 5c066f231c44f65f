#include <stdint.h>

enum { FMAPEAK_KINDS = 4 }; // 8, 10, 12 and 16 chains

// tarn_fmapeak runs a loop of independent multiply-adds on the widest vectors
// that the processor has, and returns how many operations it did.
double tarn_fmapeak(int kind, int64_t iterations);
