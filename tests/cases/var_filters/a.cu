//# Shows: -variables-used and -kernels-used with variables spread over files
//# Compile: a.cu
//# Compile: b.cu
//# Link: kernel.cubin = -kernels-used=first a.cubin b.cubin
//# Link: variable.cubin = -variables-used=started a.cubin b.cubin
//# Link: both.cubin = -kernels-used=second -variables-used=bound a.cubin b.cubin
//# Link: several.cubin = -kernels-used=first,third a.cubin b.cubin
__device__ int started = 1;
__device__ int zero[4];
__constant__ int bound = 2;
extern __device__ int remote;
__global__ void first(int *p) { *p = started + remote; }
__global__ void second(int *p) { *p = zero[*p] + bound; }
