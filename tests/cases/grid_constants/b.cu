#include <cuda.h>
__device__ void tile(const CUtensorMap* m, void* s, unsigned long long* b, int x) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(m), "r"(x), "r"(x), "r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 2) store(const __grid_constant__ CUtensorMap a, int* g) {
    extern __shared__ __align__(1024) unsigned char buf[];
    ((int*)buf)[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %1}], [%2];" :: "l"(&a), "r"(0), "r"((unsigned)__cvta_generic_to_shared(buf)));
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(g), "r"((unsigned)__cvta_generic_to_shared(buf)));
    }
}
