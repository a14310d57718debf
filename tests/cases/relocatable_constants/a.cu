//# Shows: constants that the compiler made, in relocatable links and in links of their objects
//# Compile: a.cu
//# Compile: b.cu
//# Link: r.cubin = -r a.cubin b.cubin
//# Link: swapped.cubin = -r b.cubin a.cubin
//# Link: b.r.cubin = -r b.cubin
//# Link: again.cubin = -r a.cubin b.r.cubin
//# Link[75-90]: out.cubin = r.cubin
//# Link[75-90]: mixed.cubin = b.r.cubin a.cubin
extern __device__ double far(double x);
__constant__ double table[3] = {0.1, 0.2, 0.3};
__device__ int pick(int i) {
    switch (i) {
    case 0: return 7;
    case 1: return 9;
    case 2: return table[1] > 1;
    case 3: return table[2] > 2;
    case 4: return i * 3;
    case 5: return i * i;
    default: return -1;
    }
}
__global__ void k(double *p, int n) { p[0] = far(p[1]) * 1.2345678901 + table[n] + pick(n); }
__global__ void own(double *p) { p[0] = p[1] * 3.21234567891 + 7.0000000123; }
