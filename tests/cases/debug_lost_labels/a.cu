//# Shows: labels that the compiler left out, which debug information names, are recorded as symbol 0 and have its value
//# Archs: 75 80 90 100 120
//# Compile: a.cu -G
//# Compile: b.cu
//# Compile: c.cu
//# Link: out.cubin = a.cubin
//# Link: constants.cubin = a.cubin b.cubin c.cubin -kernels-used=conv
//# Link: recorded-constants.cubin = b.cubin c.cubin a.cubin -kernels-used=conv -preserve-relocs
//# Link: recorded.cubin = -preserve-relocs a.cubin
//# Link: relocatable.cubin = -r a.cubin
//# Link: both.cubin = -r -preserve-relocs a.cubin
#include <cuda_fp8.h>
__shared__ float tile[4];
__global__ void conv(float*o){ __nv_fp8_e4m3 q(o[0]); tile[threadIdx.x]=o[1]; o[3]=float(q)+tile[0]; }
