template <int N> __device__ __noinline__ int weakly(int x) { return x * N + 1; }
__device__ int other(int);
