//# Shows: LTO-IR fits processors like PTX, and what is made of it is for a processor without its letter
//# Archs: 90 100 120
//# Compile: kernel.a.o = kernel.cu -gencode arch=compute_{sm}a,code=lto_{sm}a
//# Compile: twice.a.o = twice.cu -gencode arch=compute_{sm}a,code=lto_{sm}a
//# Compile: registers.a.o = registers.cu -gencode arch=compute_{sm}a,code=lto_{sm}a
//# Link: text.ptx = -arch=sm_{sm}a -lto -nvvmpath={lib}/../nvvm kernel.a.o twice.a.o -emit-ptx
//# Link: out.cubin = -arch=sm_{sm}a -lto -nvvmpath={lib}/../nvvm kernel.a.o twice.a.o -L{lib} -lcudadevrt -g
//# Link: registers.cubin = -arch=sm_{sm}a -lto -nvvmpath={lib}/../nvvm registers.a.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: 'setmaxnreg.inc' not supported on .target
//# Compile[100-120]: kernel.f.o = kernel.cu -gencode arch=compute_{sm}f,code=lto_{sm}f
//# Compile[100-120]: twice.f.o = twice.cu -gencode arch=compute_{sm}f,code=lto_{sm}f
//# Link[100-120]: family.ptx = -arch=sm_{sm}f -lto -nvvmpath={lib}/../nvvm kernel.f.o twice.f.o -emit-ptx
//# Link[100-120]: family.cubin = -arch=sm_{sm}f -lto -nvvmpath={lib}/../nvvm kernel.f.o twice.f.o -L{lib} -lcudadevrt
//# Link: letterless.cubin = kernel.a.o twice.a.o
//# ExpectText: warning : SM Arch ('sm_{sm}') not found in 'kernel.a.o'
//# CompareText
//# Link: optimized.cubin = -lto -nvvmpath={lib}/../nvvm kernel.a.o twice.a.o
//# ExpectText: warning : SM Arch ('sm_{sm}') not found in 'kernel.a.o'
//# CompareText
//# Link[100]: elsewhere.cubin = -arch=sm_110 -lto -nvvmpath={lib}/../nvvm kernel.f.o twice.f.o
//# ExpectText[100]: warning : SM Arch ('sm_110') not found in 'kernel.f.o'
//# CompareText[100]:
//# Link[100]: family-without.cubin = -arch=sm_103 kernel.f.o twice.f.o
//# ExpectExit[100]: 1
//# ExpectText[100]: LTO objects found, use -dlto
//# CompareText[100]:
__device__ int twice(int x);

__global__ void kernel(int *p) { *p = twice(*p); }
