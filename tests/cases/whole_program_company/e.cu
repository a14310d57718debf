__global__ void e(int *p) { *p = 2; }
