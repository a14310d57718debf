//# Shows: places of variables of a weak function that another object defines, too, keep their relocations
//# Archs: 75 80 90 100 120
//# Compile: a.cu -G
//# Compile: b.cu -G
//# Link: out.cubin = a.cubin b.cubin
//# Link: swapped.cubin = b.cubin a.cubin
//# Link: debug.cubin = -g a.cubin b.cubin
//# Link: recorded.cubin = -preserve-relocs a.cubin b.cubin
//# Link: relocatable.cubin = -r a.cubin b.cubin
static __device__ int same(int n){ return n*5; }
template<class T> __device__ T sum(T*p,T n){ T all=0; for(T i=0;i<n;i++){ T one=p[i]*i; if(one>4){ T more=one+p[i+1]; all+=more; } all+=one; } return all; }
__global__ void first(int*p){ p[0]=sum(p,p[1])+same(p[2]); }
