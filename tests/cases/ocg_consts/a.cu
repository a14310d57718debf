//# Shows: compiler generated constants (double literals, big immediates) shared and duplicated over kernels
//# Compile: a.cu
//# Link: out.cubin = a.cubin
__global__ void k1(double*p){ p[0]=p[1]*3.14159265358979+2.718281828459045/p[2]; p[3]=sin(p[4]); }
__global__ void k2(double*p){ p[0]=p[1]*3.14159265358979-exp(p[2]); p[4]=pow(p[5],p[6]); }
