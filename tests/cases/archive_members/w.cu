__global__ void w(int *p) { *p = 1; }
