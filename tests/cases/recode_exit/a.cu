//# Shows: with -g code that is not for debuggers reports errors also before it ends for some threads only
//# Archs: 100 103 120
//# Compile: a.cu
//# Link: out.cubin = -g a.cubin
__global__ void loops(int*p,int n){ bool q=p[n]>3; for(int i=0;i<n;i++) p[i]+=i; if(q) return; for(int i=0;i<n;i++){ p[i]*=i; if (p[i]==n) return;} p[3]=1; }
__global__ void one(int*p,int n){ if(n==3) return; p[n]=1; }
__global__ void two(int*p,int n){ if(p[0]==3||p[1]==4) return; p[n]=1; }
__global__ void several(int*p,int n){ if(p[threadIdx.x]>=n) return; p[threadIdx.x]=n*p[threadIdx.x+32]; if(p[4]==n) return; __syncthreads(); if(p[9]!=n) return; p[5]=1; }
// The next instruction needs the predicate that the EXIT leaves time for.
__global__ void waits(float*p,float lowest,int n){ float x=p[threadIdx.x]; bool small=fabsf(x)<lowest; if(threadIdx.x>n) return; p[threadIdx.x+32]=small?x*16777216.f:rsqrtf(x); }
