__device__ int twice(int value);

__device__ int inner(int value, long long more) { return twice(value) + (int)(more >> 38); }
