//# Shows: shared memory is laid out as if there were no kernels that no host code names
//# Compile: a.o = a.cu
//# Compile: debug.o = a.cu -G
//# For: object = a debug
//# Link: {object}.cubin = {object}.o
//# ExpectNoSymbol: _Z4deadPd
//# Link: {object}-named.cubin = {object}.o -kernels-used=used
//# ExpectNoSymbol: _Z4deadPd
//# Link: {object}-relocatable.cubin = {object}.o -r
//# Link: {object}-code.cubin = {object}.o -g -suppress-debug-info
//# Link: {object}-symbols.cubin = {object}.o -g
//# Link: preserved.cubin = a.o -preserve-relocs
extern __shared__ double dynamic[];
__shared__ double of_dead[33];
__shared__ double of_both[35];
__shared__ double of_two_dead[37];
__shared__ double of_none[39];
static __device__ __noinline__ double in_dead(double x) {
  __shared__ double d[41];
  d[threadIdx.x] = x;
  __syncthreads();
  return d[threadIdx.x ^ 1];
}
static __device__ __noinline__ double in_both(double x) {
  __shared__ double b[43];
  b[threadIdx.x] = x;
  __syncthreads();
  return b[threadIdx.x ^ 1];
}
__global__ void dead(double *p) {
  __shared__ double s[51];
  __shared__ float f[7];
  s[threadIdx.x] = p[0];
  f[threadIdx.x] = p[1];
  of_dead[threadIdx.x] = p[2];
  of_both[threadIdx.x] = p[3];
  of_two_dead[threadIdx.x] = p[4];
  dynamic[threadIdx.x] = p[5];
  __syncthreads();
  *p = s[1] + f[2] + of_dead[3] + of_both[4] + of_two_dead[5] + dynamic[6] + in_dead(p[7]) + in_both(p[8]);
}
__global__ void dead_too(double *p) {
  __shared__ double s[53];
  s[threadIdx.x] = p[0];
  of_two_dead[threadIdx.x] = p[1];
  __syncthreads();
  *p = s[1] + of_two_dead[2];
}
__global__ void used(double *p) {
  __shared__ double s[55];
  s[threadIdx.x] = p[0];
  of_both[threadIdx.x] = p[1];
  dynamic[threadIdx.x] = p[2];
  __syncthreads();
  *p = s[1] + of_both[2] + dynamic[3] + in_both(p[4]);
}
void host(double *p) { used<<<1, 1>>>(p); }
