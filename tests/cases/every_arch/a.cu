//# Shows: a program of two files for every processor that the tools know
//# Archs: 75 80 86 87 88 89 90 100 103 110 120 121
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectSymbol: kernel global func
//# ExpectSymbol[110]: __nv_reservedSMEM_gb10b_war_var weak object
//# Link: swapped.cubin = b.cubin a.cubin
extern __device__ int table[4];
extern __device__ float scale(float x, int n);
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter;
extern "C" __global__ void kernel(float *out, int n) {
    __shared__ float tile[64];
    tile[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = scale(tile[63 - threadIdx.x], n) + weights[n & 3] + table[n & 3];
    atomicAdd(&counter, 1);
}
