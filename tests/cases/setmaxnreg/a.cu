//# Shows: kernels whose warps hand registers to each other (setmaxnreg) keep their number of registers, whatever they call
//# Archs: 90 100 120
//# For: O = -O1 -lineinfo -G
//# Compile: a{O}.cubin = a.cu -arch=sm_{sm}a {O}
//# Compile: b.cubin = b.cu -arch=sm_{sm}a
//# Link: alone{O}.cubin = a{O}.cubin b.cubin -arch=sm_{sm}a
//# Link: debug{O}.cubin = -g a{O}.cubin b.cubin -arch=sm_{sm}a
//# Link: joined{O}.cubin = -r a{O}.cubin b.cubin -arch=sm_{sm}a
//# Link: again{O}.cubin = joined{O}.cubin -arch=sm_{sm}a
__device__ int scaled(int in);

// Producer warps give registers back, consumers take them.
__global__ void __maxnreg__(128) hands(const int *in, int *out) {
    __shared__ int buffer[128];
    int lane = threadIdx.x % 128;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        buffer[lane] = in[lane];
        __syncthreads();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        __syncthreads();
        out[lane] = scaled(buffer[lane]);
    }
}
// One that does without.
__global__ void __maxnreg__(64) keeps(int *out) { out[threadIdx.x] = scaled(7); }
