//# Shows: static shared arrays in kernels and device functions of two TUs
//# Compile: a.cu
//# Compile: b.cu
//# Link: out.cubin = -v a.cubin b.cubin
//# ExpectSection: .nv.shared._Z2k1Pi
//# CompareText
extern __device__ int sh_dev(int);
__global__ void k1(int*p){ __shared__ int s1[33]; __shared__ double s2[3]; __shared__ char s3[5]; s1[threadIdx.x]=p[0]; s2[1]=p[1]; s3[2]=p[2]; __syncthreads(); p[0]=s1[3]+s2[0]+s3[1]+sh_dev(p[4]); }
__global__ void k1b(int*p){ __shared__ __align__(128) int t[64]; t[threadIdx.x]=p[0]; __syncthreads(); p[1]=t[5]; }
