// Comparisons of halves wait less for predicates where doubles are slow, and what joins them less for theirs; doubles, powers of two and counts of bits need not be there for that.
__device__ __forceinline__ unsigned chosen(unsigned a, unsigned b, unsigned c) {
    unsigned result;
    asm volatile(
        "{\n.reg .pred p, q, r;\n"
        "setp.lt.f16x2 p|q, %1, %2;\nand.pred r, p, q;\nselp.b32 %0, %3, %2, r;\n}"
        : "=r"(result)
        : "r"(a), "r"(b), "r"(c));
    return result;
}

__global__ void joins_halves(unsigned *p) {
    unsigned x = p[threadIdx.x];
    p[threadIdx.x] = chosen(x, x ^ 5, 7);
}

__global__ void joins_halves_beside_powers(unsigned *p, float *f) {
    unsigned x = p[threadIdx.x];
    p[threadIdx.x] = chosen(x, p[threadIdx.x + 64], 7);
    f[threadIdx.x] = exp2f(f[threadIdx.x]);
}

// A comparison of halves behind one of integers, of floats and of halves.
#define BEHIND(NAME, FIRST)                                                                                      \
    __global__ void NAME(volatile unsigned *p) {                                                                  \
        unsigned x = p[threadIdx.x], y = p[threadIdx.x + 64], z = p[threadIdx.x + 128], result, set;               \
        asm volatile(                                                                                             \
            "{\n.reg .pred p, q, r;\n.reg .f32 f, g;\n.reg .b16 h, i;\nmov.b32 f, %2;\nmov.b32 g, %3;\n"            \
            "mov.b32 {h, i}, %4;\n" FIRST "setp.lt.and.f16x2 q|r, %3, %4, p;\nselp.b32 %0, %2, %3, q;\n"            \
            "set.lt.and.u32.f16 %1, h, i, p;\n}"                                                                   \
            : "=r"(result), "=r"(set)                                                                             \
            : "r"(x), "r"(y), "r"(z));                                                                            \
        p[threadIdx.x] = result;                                                                                  \
        p[threadIdx.x + 64] = set;                                                                                \
    }

BEHIND(behind_integers, "setp.lt.s32 p, %2, %4;\n")
BEHIND(behind_floats, "setp.lt.f32 p, f, g;\n")
BEHIND(behind_halves, "setp.lt.f16x2 p|q, %2, %4;\n")
