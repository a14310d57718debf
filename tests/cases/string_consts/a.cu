//# Shows: string literals and formats, which have equal local names in every file
//# Compile: a.cu
//# Compile: b.cubin = a.cu -DPART=2
//# Compile: c.cubin = a.cu -DPART=3
//# Link: out.cubin = a.cubin b.cubin c.cubin
//# ExpectSymbol: name1 global object size=24
#include <cstdio>
#ifndef PART
#define PART 1
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
__device__ const char *JOIN(name, PART)[3] = {"zero", "one", "a longer string"};
__device__ __noinline__ void JOIN(say, PART)(int x) { printf("part %d says %s\n", PART, JOIN(name, PART)[x]); }
__global__ void JOIN(k, PART)(int x) {
    printf("hello %d\n", x);
    printf("hello %s\n", "world");
    JOIN(say, PART)(x);
}
