__device__ __noinline__ int callee(int x) { return x * 7; }
