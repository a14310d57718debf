//# Shows: extern (dynamic) shared in kernels and device functions
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# CompareText
extern __shared__ int dyn[];
extern __device__ int ed(int);
__global__ void k1(int*p){ __shared__ int s[7]; s[threadIdx.x]=p[0]; dyn[threadIdx.x]=p[0]; __syncthreads(); p[0]=dyn[3]+s[2]+ed(p[1]); }
__global__ void k2(int*p){ dyn[threadIdx.x]=p[0]; __syncthreads(); p[0]=dyn[3]; }
