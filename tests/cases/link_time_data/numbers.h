inline __device__ int numbers[4] = {1, 2, 3, 4};
