//# Shows: patterns of host code for external kernels match no static ones, and the other way round
//# Compile: a.o = a.cu
//# Compile: b.o = b.cu
// "*"
//# Contents: external.o = a.o .nvHRKE 2a00
//# Contents: external.o = external.o .nvHRKI 00
//# Link: external.cubin = external.o b.o
//# ExpectSymbol: known func
//# ExpectSymbol: _Z7genericIiEvPT_ weak func
//# Link: external-used.cubin = -use-host-info external.o b.o -preserve-relocs
//# Contents: internal.o = a.o .nvHRKI 2a00
//# Contents: internal.o = internal.o .nvHRKE 00
//# Link: internal.cubin = internal.o b.o
//# ExpectNoSymbol: known
//# ExpectNoSymbol: _Z7genericIiEvPT_
//# Link: internal-debug.cubin = -g internal.o b.o
// "*k*n", and "*" as one byte
//# Contents: parts.o = a.o .nvHRKE 2a6b2a6e00
//# Contents: parts.o = parts.o .nvHRKI 2a6b2a6e00
//# Link: parts.cubin = parts.o b.o
//# ExpectSymbol: known func
//# ExpectNoSymbol: _Z7genericIiEvPT_
//# Contents: byte.o = a.o .nvHRKE 2a
//# Link: byte.cubin = byte.o b.o
//# ExpectNoSymbol: known

extern __device__ int helper(int);

extern "C" __global__ void known(int *p) { *p = helper(*p); }

static __global__ void own(int *p) { *p += helper(1); }

template <class T> __global__ void generic(T *p) { *p += helper(2); }

void host(int *p) {
    known<<<1, 1>>>(p);
    own<<<1, 1>>>(p);
    generic<<<1, 1>>>(p);
}
