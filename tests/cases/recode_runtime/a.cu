//# Shows: an EXIT that loses its report leaves the time that registers of warps take to the end of a block
//# Archs: 90 100 103 120
//# Compile: a.cu
//# Link: joined.cubin = -r -g a.cubin -L{lib} -lcudadevrt -keep-system-libraries
//# Link: out.cubin = -keep-system-libraries joined.cubin
//# Link: debug.cubin = -g -keep-system-libraries joined.cubin
// In libcudadevrt, memset_3d_device computes with registers of warps right before one.
__global__ void clears(char *p, int n) {
    cudaPitchedPtr where{p, 64, 32, 8};
    cudaExtent size{32, 8, 2};
    if (threadIdx.x == 0) cudaMemset3DAsync(where, n, size);
}
