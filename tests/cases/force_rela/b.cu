struct Shape { __device__ virtual int area() const { return 1; } };
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
__device__ double table[3] = {1, 2, 3};
__device__ int helper(int x, const Shape *s) { return twice(x) + s->area() + (int)(x * 5.6789012345 + table[x & 1]); }
__device__ int dead(int x) { return helper(x, 0) + 1; }
