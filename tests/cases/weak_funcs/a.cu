//# Shows: weak functions/variables: .weak in both TUs, weak+strong, inline templates
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.ptx
//# Compile: d.ptx
//# Link: out.cubin = a.cubin b.cubin
//# Link: out2.cubin = c.cubin d.cubin
//# Link: out3.cubin = d.cubin c.cubin
//# Link: out4.cubin = c.cubin
//# Link: out5.cubin = -v b.cubin a.cubin
//# CompareText
template<class T> __device__ __noinline__ T tf(T x){ return x*x+1; }
__global__ void k1(int*p){ *p=tf<int>(*p); }
