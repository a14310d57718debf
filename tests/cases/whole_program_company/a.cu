//# Shows: extensible whole programs are linked, with a warning about company other than the device runtime
//# Compile: a.cu
//# Compile: e.cubin = e.cu -rdc=false -ewp
//# Compile: e2.cubin = e2.cu -rdc=false -ewp
//# Link: alone.cubin = e.cubin
//# Link: before.cubin = a.cubin e.cubin
//# ExpectText: warning : 'a.cubin': -ewp compiled objects should only link with libcudadevrt
//# CompareText
//# Link: behind.cubin = e.cubin a.cubin
//# ExpectText: warning : 'a.cubin': -ewp compiled objects should only link with libcudadevrt
//# CompareText
//# Patch: older.cubin = e.cubin .note.nv.cuinfo+0x1c 81
//# Link: older-out.cubin = older.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : linking with -ewp objects requires using current toolkit
//# CompareText
//# Patch: older-company.cubin = a.cubin .note.nv.cuinfo+0x1c 81
//# Link: older-behind.cubin = e.cubin older-company.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : linking with -ewp objects requires using current toolkit
//# CompareText
//# Link: older-before.cubin = older-company.cubin e.cubin
//# ExpectText: warning : 'older-company.cubin': -ewp compiled objects should only link with libcudadevrt
//# CompareText
//# Link: strict.cubin = -Werror e.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: fatal   : merge_elf failed
//# CompareText
//# Compile: other.o = e2.cu -gencode arch=compute_86,code=sm_86
//# Link: strict-before.cubin = -Werror other.o e.cubin a.cubin
//# ExpectExit: 255
//# ExpectNoText: ewp
//# CompareText
//# Compile: kernel.ptx -ewp -g
//# Compile: other.cubin = e2.cu
//# Link: damaged-behind.cubin = a.cubin kernel.cubin
//# ExpectExit: 1
//# ExpectText: Internal error: entry data cannot be GLOBAL
//# CompareText
//# Link: damaged-before.cubin = kernel.cubin a.cubin
//# ExpectExit: 1
//# ExpectText: Internal error: entry data cannot be GLOBAL
//# CompareText
//# Link: damaged-last.cubin = a.cubin e.cubin kernel.cubin
//# ExpectExit: 1
//# ExpectText: Internal error: entry data cannot be GLOBAL
//# CompareText
//# Link: damaged-between.cubin = e.cubin a.cubin kernel.cubin other.cubin
//# ExpectExit: 1
//# ExpectText: Internal error: entry data cannot be GLOBAL
//# CompareText
//# Link: twice.cubin = e.cubin a.cubin a.cubin other.cubin
//# ExpectExit: any
//# CompareText
//# Link: both.cubin = e.cubin e2.cubin
//# CompareText
__global__ void k(int *p) { *p = 1; }
