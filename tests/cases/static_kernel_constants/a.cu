//# Shows: constants of device functions move into the first bank of a name where static kernels share it
//# Compile: a.cubin = a.cu -G
//# Link: twice.cubin = a.cubin a.cubin
//# Link: lines.cubin = a.cubin a.cubin -g
//# Link[75-90]: later.cubin = a.cubin a.cubin -r
//# Link[75-90]: last.cubin = later.cubin
static __device__ __noinline__ double scaled(double x) { return x * 1.2345678 + 7.25; }
static __device__ __noinline__ double shifted(double x) { return x + 3.1415926; }

static __global__ void both(double *p) { p[1] = scaled(p[0]) * 2.7182818; }
static __global__ void without(double *p) { p[2] = shifted(p[1]); }

void host(double *p) {
  both<<<1, 1>>>(p);
  without<<<1, 1>>>(p);
}
