//# Shows: weak functions/variables: .weak in both TUs, weak+strong, inline templates
//# Compile: a.cu
//# Compile: b.cu
//# Compile: c.ptx
//# Compile: d.ptx
//# Link: out.cubin = a.cubin b.cubin
//# ExpectSymbol: _Z2tfIiET_S0_ weak func
//# Link: out2.cubin = c.cubin d.cubin
//# ExpectSymbol: wf global func
//# ExpectSymbol: wv global object
//# Link: out3.cubin = d.cubin c.cubin
//# Link: out4.cubin = c.cubin
//# ExpectSymbol: wf weak func
//# ExpectSymbol: wv weak object
//# For: FILTER = -kernels-used=k -variables-used=wv
//# Link: named{FILTER}.cubin = {FILTER} c.cubin d.cubin
//# ExpectExit[100+]: 1
//# ExpectText[100+]: fatal   : Internal error: unexpected reloc
//# CompareText
//# Link: out5.cubin = -v b.cubin a.cubin
//# CompareText
template<class T> __device__ __noinline__ T tf(T x){ return x*x+1; }
__global__ void k1(int*p){ *p=tf<int>(*p); }
