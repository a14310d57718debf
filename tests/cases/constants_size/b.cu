__constant__ int other[5] = {1, 2, 3};
__global__ void second(int *p) { p[1] = __isConstant(p) + other[p[1]]; }
