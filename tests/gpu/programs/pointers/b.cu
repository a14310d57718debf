typedef int (*Operation)(int);

__device__ int increment(int value) { return value + 1; }
__device__ int square(int value) { return value * value; }
__device__ int negate(int value) { return -value; }
__device__ int halve(int value) { return value / 2; }
__device__ Operation operations[3] = {increment, square, negate};

__device__ int apply(Operation operation, int value) { return operation(value); }
