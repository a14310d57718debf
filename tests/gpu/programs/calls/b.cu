__device__ int inner(int value, long long more);

__device__ int middle(int value) { return inner(value + 3, 1LL << 40) * 10; }
