template <int FACTOR> __device__ __noinline__ int scaled(int value) { return FACTOR * value; }

static __device__ __noinline__ int offset(int value);
