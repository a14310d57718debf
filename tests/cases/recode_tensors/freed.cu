// How users of tensor memory are counted, before a program ends and reports errors.
__device__ unsigned other(unsigned);

__global__ void freed(unsigned *result) {
    __shared__ unsigned memory;
    unsigned place = __cvta_generic_to_shared(&memory);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(place));
    __syncthreads();
    result[0] = memory + other(3);
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(memory));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

__device__ unsigned other(unsigned value) {
    return value * 5;
}
