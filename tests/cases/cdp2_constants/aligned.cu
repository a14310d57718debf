__constant__ __align__(8192) int aligned[4] = {1, 2, 3};
__global__ void look_up(int *p) { *p = aligned[*p]; }
