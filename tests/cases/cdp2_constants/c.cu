__global__ void copy(int *p, int *q) { cudaMemcpyAsync(p, q, 4, cudaMemcpyDeviceToDevice, 0); }
