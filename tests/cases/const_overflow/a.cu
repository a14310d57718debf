//# Shows: constant bank 3 over 64 KiB (error)
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = a.cubin b.cubin
//# ExpectExit: 255
//# ExpectText: error   : File uses too much global constant data (0x13880 bytes, 0x10000 max)
//# CompareText
__constant__ char big1[40000]={1}; __global__ void k1(int*p){ *p=big1[*p]; }
