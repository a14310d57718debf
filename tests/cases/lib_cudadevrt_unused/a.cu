//# Shows: -lcudadevrt is left out where no function is missing; -keep-system-libraries keeps it
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# Link: out2.cubin = a.cubin -L{lib} -lcudadevrt
//# Link: out3.cubin = -keep-system-libraries a.cubin -L{lib} -lcudadevrt
//# ExpectSymbol: cudartErrorTable global object
//# Compile: variables.ptx
//# Link: joined.cubin = -r a.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: again.cubin = joined.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: variables.r.cubin = -r variables.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
//# Link: variables.out.cubin = -allow-undefined-globals variables.cubin -L{lib} -lcudadevrt
//# ExpectNoSymbol: cudartErrorTable
__global__ void k(int*p){ p[threadIdx.x]=blockIdx.x; }
