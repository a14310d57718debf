//# Shows: arrays declared without a size against definitions with one
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: swapped.cubin = b.cubin a.cubin
extern __device__ int table[];
extern __device__ float zeros[];
extern __constant__ int limits[];
__global__ void k(int *p) { *p = table[p[1]] + (int)zeros[p[2]] + limits[p[3]]; }
