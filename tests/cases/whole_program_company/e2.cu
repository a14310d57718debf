__global__ void e2(int *p) { *p = 3; }
