//# Shows: kernels that no host code names go with their shared memory; one object without host references keeps all
//# Compile: a.o = a.cu
//# Compile: silent.o = silent.cu
//# Compile: silent.cubin = silent.cu
//# Compile: plain.o = plain.cpp
//# Write: text.txt = a text of more than fifty bytes, which is as much as nvlink reads first
//# Archive: plain.a = plain.o
//# Archive: cubin.a = silent.cubin
//# Link: removed.cubin = a.o
//# ExpectNoSymbol: _Z4deadPi
//# Link: preserved.cubin = a.o -preserve-relocs
//# Link: code.cubin = a.o -g -suppress-debug-info
//# Link: silent.cubin = a.o silent.o
//# ExpectNoSymbol: _Z6silentPi
//# Link: alone.cubin = silent.o
//# ExpectSymbol: _Z6silentPi func
//# Link: named.cubin = a.o -kernels-used=used
//# ExpectNoSymbol: _Z4deadPi
//# Link: plain.cubin = a.o plain.o
//# ExpectSymbol: _Z4deadPi func
//# Link: plain-member.cubin = a.o plain.a
//# ExpectSymbol: _Z4deadPi func
//# Link: cubin-member.cubin = a.o cubin.a
//# ExpectSymbol: _Z4deadPi func
//# Link: image.cubin = a.o
//# Fatbinary: image.fatbin = -64 --image3=kind=elf,sm={sm},file=image.cubin
//# Link: beside-image.cubin = a.o image.fatbin
//# ExpectNoSymbol: _Z4deadPi
//# Link: text.cubin = a.o text.txt
//# ExpectNoSymbol: _Z4deadPi
//# Link: runtime.cubin = a.o -L{lib} -lcudadevrt
//# ExpectNoSymbol: _Z4deadPi
__device__ int variable = 3;
__constant__ int table[4] = {1, 2, 3, 4};
extern __shared__ int dynamic[];
__device__ __noinline__ int only_dead(int x) {
  __shared__ int q[32];
  q[x] = x;
  __syncthreads();
  return q[31 - x] + table[x];
}
__global__ void used(int *p) { *p = variable; }
__global__ void dead(int *p) {
  __shared__ int s[64];
  s[threadIdx.x] = *p;
  __syncthreads();
  *p = s[63 - threadIdx.x] + only_dead(*p);
}
__global__ void dead_dynamic(int *p) {
  dynamic[threadIdx.x] = *p;
  __syncthreads();
  *p = dynamic[63 - threadIdx.x];
}
void host(int *p) { used<<<1, 1>>>(p); }
