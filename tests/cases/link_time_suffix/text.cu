__global__ void taken(int *p) { *p = 1; }
