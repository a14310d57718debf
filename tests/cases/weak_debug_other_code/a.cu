//# Shows: debug information of a weak function of which another file has shorter code, which is in use, speaks of places in that code
//# Archs: 90 100 120
//# Compile: a.cu
//# Compile: b.cu -G
//# Link: out.cubin = a.cubin b.cubin
//# Link: debug.cubin = -g a.cubin b.cubin
//# Link: joined.cubin = -r a.cubin b.cubin
//# Link: again.cubin = joined.cubin
//# Link: swapped.cubin = b.cubin a.cubin
#include "pause.h"

__global__ void optimized()
{
    pause();
}
