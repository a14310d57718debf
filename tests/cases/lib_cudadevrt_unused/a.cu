//# Shows: -lcudadevrt without use: optimised away; -keep-system-libraries keeps it
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: out2.cubin = a.cubin -L{lib} -lcudadevrt
//# Link: out3.cubin = -keep-system-libraries a.cubin -L{lib} -lcudadevrt
//# ExpectSymbol: cudartErrorTable global object
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
