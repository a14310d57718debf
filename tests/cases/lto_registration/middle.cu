__device__ int last(int x);
__device__ int middle(int x) { return last(x) + 1; }
