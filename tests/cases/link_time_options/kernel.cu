//# Shows: what files of LTO-IR say they were compiled with holds for all, and has to agree
//# Archs: 75 80 90 100 120
//# Compile: kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: other.o = other.cu -gencode arch=compute_{sm},code=lto_{sm}
//# Compile: registers.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -maxrregcount=24
//# Compile: more_registers.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -maxrregcount=40
//# Compile: threads.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -split-compile=3
//# Compile: all_threads.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -split-compile=0
//# Compile: one_thread.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -split-compile=1
//# Compile: lines.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -lineinfo
//# Compile: remarks.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -opt-info=inline
//# Compile: flushing.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -ftz=true
//# Compile: division.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -prec-div=false
//# Compile: roots.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -prec-sqrt=false
//# Compile: fusing.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -fmad=false
//# Compile: fast.o = function.cu -gencode arch=compute_{sm},code=lto_{sm} -use_fast_math -maxrregcount=24 -split-compile=3 -lineinfo
//# Compile: fused.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm} -fmad=false
//# Compile: limited.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm} -maxrregcount=40 -split-compile=2
//# Compile: fast_kernel.o = kernel.cu -gencode arch=compute_{sm},code=lto_{sm} -use_fast_math -lineinfo
// What some files lack and others have holds for all.
//# For: KIND = registers threads all_threads one_thread lines remarks
//# Link: {KIND}.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o {KIND}.o -L{lib} -lcudadevrt
//# CompareText
//# Link: {KIND}_first.cubin = -lto -nvvmpath={lib}/../nvvm {KIND}.o other.o kernel.o -L{lib} -lcudadevrt
//# CompareText
//# Link: {KIND}_part.cubin = -lto -nvvmpath={lib}/../nvvm -r kernel.o {KIND}.o -L{lib} -lcudadevrt
//# CompareText
//# Link: {KIND}_said.cubin = -lto -nvvmpath={lib}/../nvvm -maxrregcount=32 -split-compile=2 kernel.o {KIND}.o -L{lib} -lcudadevrt
//# CompareText
//# Link: {KIND}_extended.cubin = -lto -nvvmpath={lib}/../nvvm -maxrregcount=0 -split-compile-extended=2 kernel.o {KIND}.o -L{lib} -lcudadevrt
//# CompareText
//# Link: {KIND}.ptx = -lto -nvvmpath={lib}/../nvvm -emit-ptx -split-compile-extended=2 kernel.o {KIND}.o -L{lib} -lcudadevrt
//# CompareText
// All say the same.
//# Link: all_fused.cubin = -lto -nvvmpath={lib}/../nvvm fused.o fusing.o -L{lib} -lcudadevrt
//# Link: all_fast.cubin = -lto -nvvmpath={lib}/../nvvm fast_kernel.o fast.o -L{lib} -lcudadevrt
//# CompareText
// They do not agree.
//# Link: bad_flushing.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o flushing.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-ftz' do not match
//# CompareText
//# Link: bad_division.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o division.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-prec-div' do not match
//# CompareText
//# Link: bad_roots.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o roots.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-prec-sqrt' do not match
//# CompareText
//# Link: bad_fusing.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o fusing.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-fmad' do not match
//# CompareText
//# Link: bad_fast.cubin = -lto -nvvmpath={lib}/../nvvm kernel.o fast.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-ftz' do not match
//# CompareText
//# Link: bad_part.cubin = -lto -nvvmpath={lib}/../nvvm -r kernel.o other.o flushing.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-ftz' do not match
//# CompareText
//# Link: bad_registers.cubin = -lto -nvvmpath={lib}/../nvvm limited.o registers.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-maxrregcount' do not match
//# CompareText
//# Link: bad_all.cubin = -lto -nvvmpath={lib}/../nvvm limited.o fast.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-maxrregcount' do not match
//# CompareText
//# Link: bad_threads.cubin = -lto -nvvmpath={lib}/../nvvm -split-compile=3 limited.o threads.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-split-compile' do not match
//# CompareText
//# Link: bad_said.cubin = -lto -nvvmpath={lib}/../nvvm -maxrregcount=32 limited.o fast.o -L{lib} -lcudadevrt
//# ExpectExit: 1
//# ExpectText: Cicc option values for '-ftz' do not match
//# CompareText

__device__ float function(float x, float y);

__global__ void kernel(float *p) { p[0] = function(p[1], p[3]) / p[2]; }
