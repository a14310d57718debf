__constant__ int first[7] = {1, 2, 3, 4, 5, 6, 7};
__global__ void conv_first(int *o) { *o = first[o[0]]; }
