__device__ int table[6] = {1, 2, 3, 4, 5, 6};
__device__ float zeros[9];
__constant__ int limits[2] = {3, 4};
__device__ int *end_of_table = table + 6;
