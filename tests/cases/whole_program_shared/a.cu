//# Shows: shared memory of extensible whole programs keeps the layout of the compiler, which names no variables there
//# Compile: e.cubin = e.cu -rdc=false -ewp
//# Compile: calls.cubin = calls.cu -rdc=false -ewp
//# Compile: a.cubin = a.cu
//# Compile: dynamic.cubin = dynamic.cu
//# Link: alone.cubin = e.cubin
//# ExpectSection: .nv.shared.fixed
//# ExpectSection: .nv.shared.dynamic
//# For: OPTION = -g -r -preserve-relocs
//# Link: alone{OPTION}.cubin = {OPTION} e.cubin
//# Link: debug-object.cubin = -r -g e.cubin
//# Link: suppressed.cubin = -g -suppress-debug-info e.cubin
//# Link: before.cubin = a.cubin e.cubin
//# Link: behind.cubin = e.cubin a.cubin
//# Compile: kept.ptx
//# Compile: lost.ptx -ewp
//# Link: lost-out.cubin = kept.cubin lost.cubin
//# Link: lost-joined.cubin = -r kept.cubin lost.cubin
//# Link: lengthens.cubin = calls.cubin dynamic.cubin
//# Link: foreign.cubin = calls.cubin a.cubin
//# ExpectExit: 255
//# ExpectText: error   : Cannot link shared object 'many' with partially linked kernel 'caller'
//# CompareText
__shared__ int many[64];
__device__ int called(int x) { many[x & 63] = x; __syncthreads(); return many[1]; }
extern "C" __global__ void k(int *p) { __shared__ int own[5]; own[threadIdx.x] = *p; __syncthreads(); *p = own[2]; }
extern "C" __global__ void kk(int *p) { *p = called(*p); }
extern "C" __global__ void kkk(int *p) { *p = called(3); }
