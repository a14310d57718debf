//# Shows: a copy to shared memory that names how it is cached takes three units in Mercury code, which line tables of weak functions and code made anew count
//# Archs: 90 100 120
//# Compile: a.cu -lineinfo
//# Compile: b.cu -lineinfo
//# Link: out.cubin = a.cubin b.cubin
//# Link: other.cubin = b.cubin a.cubin
//# Link: debuggers.cubin = -g a.cubin b.cubin
#include "copied.h"
__global__ void a(const int *p, int *q) { q[0] = copied<1>(p, q); if (q[3] == 4) return; q[4] = 5; }
