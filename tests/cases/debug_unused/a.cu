//# Shows: debug information of shared memory that no code uses, and of code that the compiler optimized away
//# Archs: 75 80 90
//# Compile: a.cu -G
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# Link: debugged.cubin = -g a.cubin b.cubin
//# Link: recorded.cubin = -preserve-relocs a.cubin b.cubin
//# Link: debugged-recorded.cubin = -g -preserve-relocs a.cubin b.cubin
__shared__ int unused[33];
__shared__ int used[4];

struct Shape {
    int size;
    __device__ virtual int area(int n) { return n * size; }
    __device__ virtual int sides() { return 4; }
};
struct Circle : Shape {
    __device__ int area(int n) override { return n * size * 3; }
};
struct Named {
    const char *name = "named";
    __device__ virtual int length() { return name[0]; }
};
struct Ring : Circle, Named {
    __device__ int sides() override { return 0; }
    __device__ int length() override { return size; }
};

__device__ __noinline__ int f(int x)
{
    Ring ring;
    ring.size = x;
    Named *named = &ring;
    Shape *shape = new Ring;
    x += named->length() + shape->sides();
    delete shape;
    used[x & 3] = x;
    __syncthreads();
    if (x == 77)
        __trap();
    return x + used[1];
}

extern __device__ int g(int x);

__global__ void k(int *p) { p[0] = f(g(p[1])); }
