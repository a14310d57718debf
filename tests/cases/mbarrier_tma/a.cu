//# Shows: mbarrier objects and bulk copies in a function of another file
//# Archs: 90 100 120
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
extern __device__ int copy(const int *, unsigned);
__global__ void k(const int *in, int *out) { *out = copy(in, 16); }
__global__ void plain(int *out) { *out = 1; }
