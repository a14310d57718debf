__constant__ int second[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void conv_second(int *o) { *o = second[o[0]]; }
