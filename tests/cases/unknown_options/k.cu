//# Shows: options that descriptions of nvlink name and that the program does not know
//# Archs: 75 90 100
//# Compile: k.cubin = k.cu
//# For: O = callgraph-file device-debug disable-optimizer-constants generate-line-info no-opt optimize-data-layout verbose-keep
//# Link: {O}.cubin = --{O} k.cubin
//# ExpectExit: 1
//# ExpectText: Unknown option '-{O}'
//# CompareText
__global__ void k(int *p) { *p = 1; }
