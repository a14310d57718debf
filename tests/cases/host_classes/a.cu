//# Shows: host objects of 32-bit machines are linked as others are, and the version of their format is not looked at
//# Archs: 75 90 100
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
//# Compile: plain.o = plain.cpp
//# For: FILE = a b plain
//# Narrow: {FILE}-narrow.o = {FILE}.o
//# Patch: {FILE}-versionless.o = {FILE}.o 0x6 00
//# Archive: lib{FILE}.a = {FILE}-narrow.o
//# For: KIND = narrow versionless
//# Link: both-{KIND}.cubin = a-{KIND}.o b-{KIND}.o
//# ExpectSymbol: _Z6helperi func
//# ExpectNoSymbol: _Z12not_launchedPi
//# Link: first-{KIND}.cubin = plain-{KIND}.o a-{KIND}.o b.o
//# Link: second-{KIND}.cubin = -v a.o plain.o b-{KIND}.o
//# CompareText
//# Link: used-{KIND}.cubin = -use-host-info a-{KIND}.o b-{KIND}.o
//# Link: registered-{KIND}.cubin = a-{KIND}.o b-{KIND}.o --register-link-binaries=register.h
//# Link: plain-{KIND}.cubin = plain-{KIND}.o
//# Link: alone-{KIND}.cubin = a-{KIND}.o
//# ExpectExit: 255
//# CompareText
//# Link: archive.cubin = a.o libb.a
//# Link: searched.cubin = -L. a.o -lb
//# ExpectExit: any
//# CompareText
//# Link: searched-narrow.cubin = -cpu-arch=X86 -L. -la -lb
//# ExpectExit: any
//# CompareText
__device__ int helper(int x);
__global__ void launched(int *p) { *p = helper(*p); }
__global__ void not_launched(int *p) { *p = 2; }
void host(int *p) { launched<<<1, 1>>>(p); }
