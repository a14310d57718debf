//# Shows: string tables and symbol order with hundreds of kernels and functions in three files
//# Compile: a.cu -DPART=a
//# Compile: b.cubin = a.cu -DPART=b
//# Compile: c.cubin = a.cu -DPART=c
//# Link: out.cubin = a.cubin b.cubin c.cubin
//# Link: reversed.cubin = c.cubin b.cubin a.cubin
#define JOIN2(a, b, c) a##b##_##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define ONE(n) \
    __device__ __noinline__ int JOIN(f, PART, n)(int x) { return x * 3 + 1##n; } \
    __global__ void JOIN(k, PART, n)(int *p) { *p = JOIN(f, PART, n)(*p); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
TEN(0) TEN(1) TEN(2) TEN(3) TEN(4)
