//# Shows: line tables of several files name inlined functions by their places in the joined .debug_str
//# Archs: 75 90 100 103 120
//# Compile: a.cu -lineinfo
//# Compile: b.cu -lineinfo
//# Compile: c.cu -lineinfo
//# Link: out.cubin = a.cubin b.cubin c.cubin
//# Link: swapped.cubin = c.cubin b.cubin a.cubin
//# Link: recorded.cubin = -preserve-relocs a.cubin b.cubin c.cubin
//# Link: relocatable.cubin = -r a.cubin b.cubin c.cubin
//# Link: twice.cubin = relocatable.cubin
template <class T> __device__ inline T twice(T x) { return x + x * x; }
__device__ inline int clamped(int x) { return x > 7 ? twice(x) : x - 3; }
__global__ void first(int *p) { p[0] = clamped(p[1]) + twice(p[2]); }
