__device__ __noinline__ unsigned __int128 mul(unsigned __int128 a, unsigned long long b) {
    return a * b / (b | 1);
}
__device__ float sc[4];
__global__ void ff(float* o) {
    o[0] = __fsqrt_rn(o[1]) + sinf(o[2]) + powf(o[3], o[4]) + erfcf(o[5]) + tgammaf(o[6]);
    o[7] = (float)(fmod((double)o[1], 3.7) + cbrt((double)o[2]) + lgamma((double)o[3]) + j1((double)o[4]));
    atomicAdd((double*)o + 4, 1.0);
#if __CUDA_ARCH__ >= 900
    atomicAdd((float4*)o + 8, make_float4(1, 2, 3, 4));
#endif
}
