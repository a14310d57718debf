static __device__ __noinline__ int deep(int x) { return x ^ 3; }
__device__ __noinline__ int used(int x) { return deep(x) + 1; }
__device__ __noinline__ int end_of_chain(int x) { return x * 11; }
__device__ __noinline__ int chain(int x) { return end_of_chain(x) * 2; }
