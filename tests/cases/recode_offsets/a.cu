//# Shows: loads of which part is not used, spilled registers and arrivals that do not complete a phase are noted with their places, which follow code that loses needless barriers
//# Archs: 100 103 120
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: debug.cubin = -g a.cubin
// Four words are loaded at once, of which one is not used, behind a memory barrier that loses its idle loads.
__device__ int flag;
__global__ void unused(int *p, int n) {
    __shared__ int4 s[64];
    s[threadIdx.x] = make_int4(p[threadIdx.x], n, p[threadIdx.x + 1], n + 1);
    __threadfence();
    if (p[n] == 3) flag = 1;
    __threadfence();
    __syncthreads();
    int4 v = s[63 - threadIdx.x];
    p[threadIdx.x] = v.x + v.y * v.w;
}
// More values live than there are registers: what is kept in memory is noted with its place in the code.
__global__ void __launch_bounds__(1024, 2) spills(float *p, int *flag, int n) {
    float v[40];
    #pragma unroll
    for (int i = 0; i < 40; i++) v[i] = p[threadIdx.x + i * n];
    __threadfence();
    if (p[n] > 2) flag[0] = 1;
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
        #pragma unroll
        for (int i = 0; i < 40; i++) v[i] = v[i] * v[(i + 7) % 40] + p[j];
    }
    __threadfence();
    #pragma unroll
    for (int i = 0; i < 40; i++) p[threadIdx.x + i * n] = v[i];
}
// What a barrier counts is written to memory; two arrivals leave its phase as it is.
__global__ void arrives(unsigned long long *p, int n) {
    __shared__ unsigned long long barrier[4];
    unsigned address = (unsigned)__cvta_generic_to_shared(&barrier[n & 1]);
    unsigned long long one, other;
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(address));
    __threadfence();
    if (p[n] == 3) flag = 1;
    __threadfence();
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 2;" : "=l"(one) : "r"(address) : "memory");
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1+8], 3;" : "=l"(other) : "r"(address) : "memory");
    p[0] = one + other;
}
