//# Shows: with -preserve-relocs code that no kernel needs stays, and uses of compiler constants that move are not recorded
//# Compile: a.cu
//# Compile: b.cu
//# Compile[75-90]: l.cubin = b.cu -lineinfo
//# Link: out.cubin = -preserve-relocs a.cubin b.cubin
//# ExpectSymbol: _Z6unusedd global func
//# Link[75-90]: lines.cubin = -preserve-relocs a.cubin l.cubin
//# Link: r.cubin = -r -preserve-relocs a.cubin b.cubin
extern __device__ double far(double x);
__constant__ double table[3] = {0.1, 0.2, 0.3};
__global__ void k(double *p, int n) { p[0] = far(p[1]) * 1.2345678901 + table[n]; }
__global__ void own(double *p) { p[0] = p[1] * 3.21234567891 + 7.0000000123; }
