__constant__ int table[7] = {1, 2, 3};
__global__ void look_up(int *p) { *p = table[*p]; }
