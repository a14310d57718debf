//# Shows: -kernels-used and -variables-used filters, also with names that nothing has
//# Compile: a.cu
//# Link: out1.cubin = -kernels-used=kern_one a.cubin
//# ExpectSymbol: _Z8kern_onePi func
//# ExpectNoSymbol: _Z8kern_twoPi
//# ExpectSymbol: vb object
//# Link: out2.cubin = -kernels-used=kern a.cubin
//# ExpectSymbol: _Z8kern_twoPi func
//# ExpectNoSymbol: _Z5otherPi
//# Link: out3.cubin = -kernels-used=nosuch a.cubin
//# ExpectNoSymbol: _Z8kern_onePi
//# ExpectSymbol: va object
//# CompareText
//# Link: out4.cubin = -variables-used=vc a.cubin
//# ExpectNoSymbol: _Z8kern_onePi
//# ExpectSymbol: va object
//# CompareText
//# Link: unmatched.cubin = -kernels-used=kern_one,Kern_two,onlyk2 -variables-used=vz -Werror a.cubin
//# ExpectSymbol: _Z8kern_onePi func
//# CompareText
//# Link: out5.cubin = -kernels-used=kern_one -variables-used=vc a.cubin
//# Link: out6.cubin = -kernels-used=kern_one,other -variables-used=va,vb,ca a.cubin
//# Link: out7.cubin = -v -use-host-info a.cubin
//# CompareText
//# Link: out8.cubin = -use-host-info -kernels-used=kern_one a.cubin
//# CompareText
//# Link: stars.cubin = -kernels-used=k*n*o -variables-used=_*b a.cubin
//# ExpectSymbol: _Z8kern_onePi func
//# ExpectSymbol: _Z8kern_twoPi func
//# ExpectNoSymbol: _Z5otherPi
//# Link: order.cubin = -kernels-used=one*kern,*other a.cubin
//# ExpectNoSymbol: _Z8kern_onePi
//# Link: all.cubin = -kernels-used=* a.cubin
//# ExpectSymbol: _Z5otherPi func
__device__ int va=1, vb=2, vc=3; __constant__ int ca=4, cb=5;
__device__ __noinline__ int onlyk2(int x){ return x*vb; }
__global__ void kern_one(int*p){ *p+=va; } __global__ void kern_two(int*p){ *p=onlyk2(*p)+ca; } __global__ void other(int*p){ *p-=cb; }
