//# Shows: code that finds functions through a constant bank of addresses, which has another name in Mercury code, and names for relocations that are none
//# Compile: a.cu -Xptxas -pic=true
//# Compile: b.cu -Xptxas -pic=true
//# Compile: plain.cubin = b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: mixed.cubin = plain.cubin a.cubin
//# Link: debuggers.cubin = -g a.cubin b.cubin
//# Link: relocatable.cubin = -r a.cubin b.cubin
//# Link: again.cubin = relocatable.cubin
//# Link: kept.cubin = -preserve-relocs a.cubin b.cubin
//# Link: used.cubin = -kernels-used=_Z3onePi a.cubin b.cubin
//# Link: without.cubin = -kernels-used=_Z3onePi a.cubin
//# Link: missing.cubin = a.cubin
//# ExpectExit: 255
//# ExpectText: Undefined reference to '_Z5otheri'
// The address of a function has one place for all files: the first, or that of the file which defines it.
//# Compile: c.cu -Xptxas -pic=true
//# Link: three.cubin = a.cubin b.cubin c.cubin
//# Link: first.cubin = c.cubin b.cubin a.cubin
//# Link: last.cubin = a.cubin c.cubin b.cubin
#include "weakly.h"
__device__ __noinline__ int first(int x) { return x * 3 + 1; }
__device__ __noinline__ int second(int x) { return first(x) * 5; }
__device__ int other(int);
__global__ void one(int *p) { p[0] = first(p[1]); }
__global__ void both(int *p) { p[0] = second(p[1]) + first(p[2]); }
__global__ void elsewhere(int *p) { if (p[2] > 3) return; p[0] = second(p[1]) + other(p[2]); }
__global__ void everywhere(int *p) { p[0] = weakly<3>(p[1]); }
// Names of static functions' addresses.
static __device__ __noinline__ int own(int x) { return x * 11; }
static __device__ __noinline__ int another(int x) { return x * 13; }
__global__ void statics(int *p) { p[0] = own(p[1]) + another(p[2]); }
