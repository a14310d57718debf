__constant__ int table[15000] = {1, 2, 3};
__global__ void copy(int *p, int *q) { cudaMemcpyAsync(p, q, table[*p], cudaMemcpyDeviceToDevice, 0); }
