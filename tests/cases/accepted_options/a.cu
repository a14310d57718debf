//# Shows: options that nvcc passes and that change nothing in a device link
//# Compile: a.cu
//# Link: nvcc.cubin = -m64 -cpu-arch=X86_64 --host-ccbin g++ a.cubin
//# CompareText
//# Link: shared.cubin = -m64 --shared -cpu-arch AARCH64 --host-ccbin=gcc -Xlinker=-x a.cubin
//# CompareText
//# Link: infos.cubin = -disable-infos a.cubin
//# CompareText
//# Link: unused.cubin = -Xnvvm=-opt=3 -split-compile-extended=2 -extrawarn a.cubin
//# CompareText
//# Link: hidden.cubin = -uumn -verbose-tkinfo=true -cuda-api-version=13.1 -syscall-const-offset=8 a.cubin
//# CompareText
//# Link: other-version.cubin = -cuda-api-version=12.9 a.cubin
//# ExpectExit: 1
//# CompareText
//# Link: no-version.cubin = -cuda-api-version=13 a.cubin
//# ExpectExit: 1
//# CompareText
//# Link: off.cubin = -verbose-tkinfo=false -enable-extended-smem=false -disable-smem-reservation=false a.cubin
//# CompareText
__device__ int counter;
__global__ void k(int *p) { *p = atomicAdd(&counter, 1); }
