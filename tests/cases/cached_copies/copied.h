template <int N> __device__ __noinline__ int copied(const int *p, int *q) {
    extern __shared__ int4 to[];
    unsigned at = (unsigned)__cvta_generic_to_shared(to) + (threadIdx.x & 31) * 16;
    unsigned long long hint;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(hint));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2;"
                 :: "r"(at), "l"(p + threadIdx.x * 4), "l"(hint));
    int more = p[N] * q[N];
    asm volatile("cp.async.wait_all;");
    if (more > 7) q[2] = more;
    return to[threadIdx.x & 31].x + more;
}
