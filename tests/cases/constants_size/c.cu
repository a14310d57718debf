__global__ void third(int *p) { p[2] = __isConstant(p); }
