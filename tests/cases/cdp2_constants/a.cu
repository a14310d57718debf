//# Shows: the device runtime is told how large the program's constants are, whoever defines them
//# Archs: 75 80 90
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.cu
//# Compile: large.cu
//# Compile: aligned.cu
//# Link: out.cubin = a.cubin b.cubin -L{lib} -lcudadevrt
//# Link: debug.cubin = -g a.cubin b.cubin -L{lib} -lcudadevrt
//# Link: recorded.cubin = -preserve-relocs b.cubin a.cubin -L{lib} -lcudadevrt
//# Link: kept.cubin = -keep-system-libraries -g b.cubin -L{lib} -lcudadevrt
//# Link: kept-recorded.cubin = -keep-system-libraries -preserve-relocs b.cubin -L{lib} -lcudadevrt
//# Link: without-constants.cubin = c.cubin -L{lib} -lcudadevrt
//# Link: sorted.cubin = large.cubin aligned.cubin -L{lib} -lcudadevrt
//# Link: joined.cubin = -r a.cubin b.cubin -L{lib} -lcudadevrt
__constant__ int sizes[5] = {1, 2, 3, 4, 5};
__global__ void k(int *p, int *q) { cudaMemcpyAsync(p, q, sizes[threadIdx.x], cudaMemcpyDeviceToDevice, 0); }
