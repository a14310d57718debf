__device__ int copy(const int *in, unsigned bytes) {
    __shared__ alignas(16) int buffer[64];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned to = __cvta_generic_to_shared(buffer);
    unsigned at = __cvta_generic_to_shared(&barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(in), "r"(bytes), "r"(at));
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }" ::"r"(at));
    return buffer[threadIdx.x];
}
