//# Shows: integers of 128 bits and atomics on them, local memory in assembly, and functions of doubles
//# Archs: 90 100 120
//# Compile: a.cu -std=c++17
//# Compile: b.cu -std=c++17
//# Link: out.cubin = a.cubin b.cubin
//# Link: debug.cubin = -g b.cubin a.cubin
//# Link: joined.cubin = -r a.cubin b.cubin
//# Link: again.cubin = joined.cubin
__device__ __int128 wide;
extern __device__ unsigned __int128 mul(unsigned __int128, unsigned long long);
__global__ void k(unsigned long long* o, uint4* q) {
    unsigned __int128 v = mul(((unsigned __int128)o[0] << 64) | o[1], o[2]);
    o[3] = v >> 64;
    o[4] = v % 1000007;
    unsigned long long lo = 1, hi = 2, rl, rh;
    asm volatile("{ .reg .b128 a, b, c; mov.b128 a, {%2, %3}; mov.b128 b, {%3, %2}; atom.global.cas.b128 c, [%4], a, b; mov.b128 {%0, %1}, c; }" : "=l"(rl), "=l"(rh) : "l"(lo), "l"(hi), "l"(q) : "memory");
    o[5] = rl ^ rh;
    asm volatile("{ .local .align 8 .b8 tmp[64]; .reg .u64 p; .reg .u32 r; mov.u64 p, tmp; st.local.u32 [p+8], %1; ld.local.u32 r, [p+8]; mov.u32 %0, r; }" : "=r"(q[1].x) : "r"(q[1].y));
}
