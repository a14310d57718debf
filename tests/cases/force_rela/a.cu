//# Shows: all relocations get an addend, also those of texture handles and debug information
//# Compile: a.cu -lineinfo
//# Compile: b.cu
//# Compile: debug.cubin = b.cu -G
//# Compile: t.ptx
//# Link: out.cubin = -force-rela a.cubin b.cubin
//# Link: swapped.cubin = -force-rela b.cubin a.cubin
//# Link[75-90]: debug.out.cubin = -force-rela -g a.cubin debug.cubin
//# Link: recorded.cubin = -force-rela -preserve-relocs a.cubin b.cubin t.cubin
//# Link: recorded-lone.cubin = -force-rela -preserve-relocs -kernels-used=_Z1k a.cubin b.cubin t.cubin
//# Link: textures.cubin = -force-rela t.cubin
//# Link: joined.cubin = -force-rela -r a.cubin b.cubin t.cubin
//# Link: plain.cubin = -r a.cubin b.cubin t.cubin
//# Link: again.cubin = -force-rela plain.cubin
//# Link: joined-again.cubin = joined.cubin
struct Shape { __device__ virtual int area() const { return 1; } };
__device__ int counter = 3;
__device__ int *pointer = &counter;
__constant__ int *const_pointer = &counter;
__constant__ float factor = 2;
__device__ Shape shape;
extern __device__ int helper(int x, const Shape *s);
template <class T> __device__ __noinline__ T twice(T x) { return x + x + counter; }
__global__ void k(int *p, int n) {
  __shared__ int s[32];
  switch (n) {
    case 0: *p = counter; break;
    case 1: *p = helper(n, &shape); break;
    case 2: *p = *pointer; break;
    case 3: *p = *const_pointer; break;
    case 4: *p = twice(n); break;
    case 5: *p = n * factor; break;
    case 6: *p = s[n] + twice(n + 1); s[p[1]] = n; break;
    default: *p = (int)(long)&k;
  }
}
