//# Shows: dynamic parallelism with libcudadevrt.a
//# Compile: a.cu
//# Link: out.cubin = a.cubin -L{lib} -lcudadevrt
//# ExpectSymbol: __cudaCDP2LaunchDeviceV2 global func
//# Link: outfail.cubin = a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '__cudaCDP2GetParameterBufferV2' in 'a.cubin'
//# ExpectText: error   : Undefined reference to '__cudaCDP2LaunchDeviceV2' in 'a.cubin'
//# CompareText
//# Link: out2.cubin = -v a.cubin -L{lib} -lcudadevrt
//# CompareText
//# Link[75-90]: recorded.cubin = -preserve-relocs a.cubin -L{lib} -lcudadevrt
//# Link: out3.cubin = -keep-system-libraries a.cubin -L{lib} -lcudadevrt
__global__ void child(int*p){ p[threadIdx.x]++; }
__global__ void parent(int*p){ child<<<1,32>>>(p); child<<<2,64>>>(p); }
