__shared__ double unused[39];
#ifndef WITHOUT_COMMON
__shared__ double common[35];
__global__ void second(double *p) { common[threadIdx.x] = *p; }
#else
__shared__ double common[35];
#endif
__global__ void first(double *p) {
  common[threadIdx.x] = *p;
  p[1] = common[threadIdx.x + 1];
}
