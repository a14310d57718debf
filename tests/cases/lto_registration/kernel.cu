//# Shows: link-time optimization that leaves nothing to link registers the last module first; with the device runtime or without kernels the first
//# Archs: 75 90 100
//# Compile: kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: middle.o = middle.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: plain.o = plain.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: launch.o = launch.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Link: plain.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o middle.o plain.o -L{lib} -lcudadevrt --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# Link: launch.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o middle.o launch.o -L{lib} -lcudadevrt --register-link-binaries=modules.h
//# ExpectFile: modules.h
//# Link: no-kernel.cubin = -lto -nvvmpath={lib}/../nvvm middle.o plain.o -L{lib} -lcudadevrt --register-link-binaries=few.h
//# ExpectFile: few.h
//# Link: kept.cubin = -lto -nvvmpath={lib}/../nvvm -keep-system-libraries kernel.o middle.o launch.o -L{lib} -lcudadevrt --register-link-binaries=kept.h
//# ExpectFile: kept.h
__device__ int middle(int x);
__global__ void kernel(int *p) { *p = middle(*p); }
