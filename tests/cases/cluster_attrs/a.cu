//# Shows: cluster dimensions, launch bounds and register limits of kernels pass through
//# Archs: 90 100 120
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: swapped.cubin = b.cubin a.cubin
extern __device__ int callee(int *, int);
__global__ void __cluster_dims__(2, 1, 1) clustered(int *p) { *p = callee(p, 1); }
__global__ void __launch_bounds__(128, 2) bounded(int *p) { *p = callee(p, 2); }
__global__ void __launch_bounds__(256, 1, 4) bounded_cluster(int *p) { *p = 3; }
__global__ void __maxnreg__(64) limited(int *p) { *p = 4; }
