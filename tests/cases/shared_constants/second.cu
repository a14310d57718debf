__constant__ double one = 1.0;
__global__ void unused(double *p) { *p = one; }
