//# Shows: names of modules come from the objects or from their paths, and what another input has linked is left out
//# Compile: k.o = k.cu
//# Compile: f.o = f.cu
//# Compile: g.o = g.cu
//# Compile: g.cubin = g.cu
//# Patch: two-names.o = f.o __nv_module_id+0 5f 61 61 00 5f 62 62 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
//# Patch: named.o = f.o __nv_module_id+0 5f 61 61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
//# Patch: linked.o = g.o __nv_module_id+0 64 65 66 20 5f 61 61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
//# Patch: both.o = g.o __nv_module_id+0 64 65 66 20 5f 61 61 00 5f 62 62 00 00 00 00 00 00 00 00 00 00 00 00
//# Patch: no-name.o = g.o __nv_module_id+0 61 61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
//# Archive: linked.a = linked.o
//# Link: own.cubin = k.o f.o g.o --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# Link: two.cubin = k.o two-names.o g.o --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# Link: left-out.cubin = k.o named.o linked.o --register-link-binaries=modules.h
//# ExpectExit: 255
//# ExpectFile: modules.h
//# CompareText
//# Link: left-out-by-archive.cubin = linked.a k.o named.o g.o --register-link-binaries=modules.h
//# ExpectExit: 255
//# ExpectFile: modules.h
//# CompareText
//# Link: not-registered.cubin = k.o named.o linked.o
//# Link: both.cubin = k.o f.o both.o --register-link-binaries=modules.h
//# ExpectExit: 1
//# ExpectText: fatal   : unexpected data in module_ids
//# CompareText
//# Link: no-name.cubin = k.o f.o no-name.o --register-link-binaries=modules.h
//# ExpectExit: any
//# ExpectFile: modules.h
//# CompareText
//# Link: linked.cubin = g.cubin
//# Fatbinary: linked.fatbin = -64 --image3=kind=elf,sm={sm},file=linked.cubin
//# Link: no-object.cubin = linked.fatbin linked.cubin --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# LinkExactly: early-file = -arch=sm_{sm} -o nowhere/out g.cubin --register-link-binaries=modules.h
//# ExpectExit: 1
//# ExpectNoFile: modules.h
//# CompareText
//# Patch: no-end = g.o 0 7f
//# Archive: no-end-either = f.o
//# Link: no-ends.cubin = k.o g.o no-end no-end-either --register-link-binaries=modules.h
//# ExpectExit: 255
//# ExpectFile: modules.h
//# CompareText
//# Patch: object.so = g.o 0 7f
//# Link: shared.cubin = g.o object.so --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# Link: merge-error.cubin = k.o k.o --register-link-binaries=modules.h
//# ExpectExit: 1
//# ExpectNoFile: modules.h
extern __device__ int f(int);
__global__ void k(int *p) { *p = f(*p); }
