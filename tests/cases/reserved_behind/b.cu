__constant__ double weights[3] = {1.5, 2.5, 3.5};
__device__ const char *name = "more";
__global__ void shares(double *p) {
    __shared__ __align__(ALIGN) double tile[32];
    tile[threadIdx.x] = p[threadIdx.x] * weights[threadIdx.x % 3];
    __syncthreads();
    p[threadIdx.x] = tile[31 - threadIdx.x] / p[0] + name[1];
}
