//# Shows: beside code for debuggers, line tables of other kernels follow their code, which then reports errors before it ends
//# Archs: 90 100 120
//# Compile: a.cu -lineinfo
//# Compile: c.cu -lineinfo
//# Compile: b.cu -G
//# Link: out.cubin = a.cubin b.cubin
//# Link: swapped.cubin = b.cubin a.cubin
//# Link: three.cubin = a.cubin b.cubin c.cubin
//# Link: last.cubin = a.cubin c.cubin b.cubin
//# Link: debug.cubin = -g a.cubin c.cubin b.cubin
//# Link: recorded.cubin = -preserve-relocs a.cubin c.cubin b.cubin
//# Link: r.cubin = -r a.cubin c.cubin b.cubin
//# Link: linked.cubin = r.cubin
__device__ __noinline__ int twice(const int *p) { return *p * 2; }
__global__ void a(const int *p, int *q) {
    q[0] = twice(p);
    if (q[3] == 4)
        return;
    q[4] = 5;
}
