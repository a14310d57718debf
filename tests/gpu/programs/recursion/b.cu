__device__ int is_even(int value);

__device__ int is_odd(int value) { return value == 0 ? 0 : is_even(value - 1); }
