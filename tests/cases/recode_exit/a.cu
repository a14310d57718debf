//# Shows: with -g code that is not for debuggers reports errors also before it ends for some threads only, and notes about it follow
//# Archs: 100 103 120
//# Compile: a.cu
//# Link: out.cubin = -g a.cubin
//# Link: joined.cubin = -r -g a.cubin
//# Link: restored.cubin = joined.cubin
//# Link: rejoined.cubin = -r joined.cubin
//# Link: debug-again.cubin = -g joined.cubin
//# Link: again.cubin = rejoined.cubin
//# Compile: unused.cubin = unused.ptx
//# Link: unused-joined.cubin = -r -g unused.cubin
//# Link: unused-out.cubin = unused-joined.cubin
//# Compile: atomic.cubin = atomic.cu
//# Link: atomic-joined.cubin = -r -g atomic.cubin
//# Link: atomic-out.cubin = atomic-joined.cubin
//# Compile: ends.cubin = ends.ptx
//# Link: ends-joined.cubin = -r -g ends.cubin
//# Link: ends-out.cubin = ends-joined.cubin
//# Compile: products.cubin = products.ptx
//# Link: products-joined.cubin = -r -g products.cubin
//# Link: products-out.cubin = products-joined.cubin
__global__ void loops(int*p,int n){ bool q=p[n]>3; for(int i=0;i<n;i++) p[i]+=i; if(q) return; for(int i=0;i<n;i++){ p[i]*=i; if (p[i]==n) return;} p[3]=1; }
__global__ void one(int*p,int n){ if(n==3) return; p[n]=1; }
__global__ void two(int*p,int n){ if(p[0]==3||p[1]==4) return; p[n]=1; }
__global__ void several(int*p,int n){ if(p[threadIdx.x]>=n) return; p[threadIdx.x]=n*p[threadIdx.x+32]; if(p[4]==n) return; __syncthreads(); if(p[9]!=n) return; p[5]=1; }
// The next instruction needs the predicate that the EXIT leaves time for.
__global__ void waits(float*p,float lowest,int n){ float x=p[threadIdx.x]; bool small=fabsf(x)<lowest; if(threadIdx.x>n) return; p[threadIdx.x+32]=small?x*16777216.f:rsqrtf(x); }
// An EXIT that asks for two predicates.
__global__ void both(int*p,int n){ int v=p[threadIdx.x]; bool f=p[n]>5; int w=__shfl_up_sync(0xffffffff,v,1); if (f) p[2]=v; if (f && w==v) return; if (!f) p[3]=w; if (!f && w!=v) return; p[7]=v; }
__global__ void either(int*p,int n){ int v=p[threadIdx.x]; bool f=n>5; if (n>3) { int w=__shfl_up_sync(0xffffffff,v,1); if (f && w!=v) { p[2]=v; return; } else if (w==v) return; } p[7]=v; }
// Half floats are added in memory by a loop, which is noted with its places.
#include <cuda_fp16.h>
__global__ void halves(__half*p,int n){ if (threadIdx.x>n) return; atomicAdd(p+threadIdx.x,p[n]); p[n+1]=p[n+2]; }
