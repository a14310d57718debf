__device__ int target = 1000;
__device__ int *pointer = &target;
