//# Shows: host objects: kernels the host never launches go unless -ignore-host-info is given
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
//# Compile: b.cubin = b.cu
//# Link: out.cubin = a.o b.o
//# ExpectNoSymbol: _Z12not_launchedPi
//# Link: ignored.cubin = -ignore-host-info a.o b.o
//# ExpectSymbol: _Z12not_launchedPi func
//# Link: used.cubin = -use-host-info a.o b.o
//# Link: recorded.cubin = -preserve-relocs a.o b.o
//# Link: mixed.cubin = a.o b.cubin
//# Link: verbose.cubin = -v a.o b.o
//# CompareText
//# Link: registered.cubin = a.o b.o --register-link-binaries=register.h
//# ExpectFile: register.h
//# For: NULS = 00 0000
//# Contents: a-{NULS}.o = a.o .nvHRKE {NULS}
//# Contents: b-{NULS}.o = b.o .nvHRKE {NULS}
//# Link: silent-{NULS}.cubin = a-{NULS}.o b-{NULS}.o
//# Patch: unwrapped.o = b.o .nvFatBinSegment@0x0 00 00 00 00
//# Link: unwrapped.cubin = a.o unwrapped.o
//# ExpectExit: 255
//# ExpectText: error   : Undefined reference to '_Z6helperi' in 'a.o'
//# CompareText
extern __device__ int helper(int);
__device__ int counter = 3;
__global__ void launched(int *p) { *p = helper(*p) + counter; }
__global__ void not_launched(int *p) { *p = 2; }
void host(int *p) { launched<<<1, 1>>>(p); }
