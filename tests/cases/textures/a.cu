//# Shows: texture and surface objects, bindless; legacy texref/surfref globals in PTX
//# Compile: a.cu
//# Compile: b.ptx
//# Compile: c.ptx
//# Link: out.cubin = a.cubin
//# Link: out2.cubin = b.cubin c.cubin
//# ExpectSymbol: tref global type=10 undefined
//# Link: out3.cubin = a.cubin b.cubin
#include <cuda_runtime.h>
__device__ __noinline__ float fetch(cudaTextureObject_t t,float x){ return tex1D<float>(t,x); }
__global__ void k1(cudaTextureObject_t t,cudaSurfaceObject_t s,float*p){ p[0]=fetch(t,p[1])+tex2D<float>(t,p[2],p[3]); float v; surf2Dread(&v,s,4,5); p[1]=v; surf2Dwrite(v+1,s,8,9); }
