//# Shows: switch jump tables and indirect branches (constant bank 2 tables, brx)
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.ptx
//# Link: out.cubin = a.cubin b.cubin c.cubin
//# ExpectSection: .nv.constant2._Z2k1Pi
//# Link: recorded.cubin = -preserve-relocs a.cubin b.cubin c.cubin
extern __device__ int e0(int),e1(int),e2(int),e3(int);
__device__ __noinline__ int sw(int n,int x){ switch(n){ case 0: return x*3; case 1: return e0(x); case 2: return x/7; case 3: return e1(x); case 4: return x^55; case 5: return e2(x)+1; case 6: return x<<3; case 7: return e3(x)-5; case 8: return x%13; case 9: return x*x*x; } return -1; }
__global__ void k1(int*p){ p[0]=sw(p[1],p[2]); }
