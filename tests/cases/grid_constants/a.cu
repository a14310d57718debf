//# Shows: tensor maps as constant parameters of kernels in clusters, whose addresses functions of another file take
//# Archs: 90 100 120
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: debug.cubin = -g b.cubin a.cubin
//# Link: joined.cubin = -r a.cubin b.cubin
//# Link: again.cubin = joined.cubin
#include <cuda.h>
extern __device__ void tile(const CUtensorMap* m, void* s, unsigned long long* b, int x);
__global__ void __launch_bounds__(128, 1) tma(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* o) {
    __shared__ alignas(128) float s[32 * 32];
    __shared__ unsigned long long bar;
    unsigned sb = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(sb));
        asm volatile("fence.proxy.async;");
        tile(&a, s, &bar, 0);
        tile(&b, s, &bar, 32);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(sb), "r"(8192));
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(sb));
    o[threadIdx.x] = s[threadIdx.x];
}
