//# Shows: objects of CUDA 11.8 for sm_90, of a toolkit of the future in the old layout, and the device runtime with nothing before it
//# Archs: 75 90
//# Compile: k.cubin = k.cu
//# Take[90]: a.cubin = older/a.11-8.sm_90.cubin
//# Take[75]: a.cubin = older/a.11-8.sm_75.cubin
//# Link[90]: old-out.cubin = a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input file 'a.cubin' must be recompiled with toolkit >= Cuda 12.0
//# CompareText
//# Patch: future.cubin = a.cubin 20 83
//# Link: future-out.cubin = future.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : Input file 'future.cubin' newer than toolkit (131 vs 130)
//# CompareText
//# Patch: signed.cubin = a.cubin 20 ff ff ff ff
//# Link: signed-out.cubin = signed.cubin
//# ExpectExit: 1
//# ExpectText: newer than toolkit (-1 vs 130)
//# CompareText
//# Link: runtime.cubin = -keep-system-libraries {lib}/libcudadevrt.a
//# CompareText
//# Link: runtime-first.cubin = -keep-system-libraries {lib}/libcudadevrt.a k.cubin
//# CompareText
__global__ void k(int *p) { *p = 1; }
