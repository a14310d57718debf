__device__ float heavy(const float*p,int n){ float a[60]; 
#pragma unroll
for(int i=0;i<60;i++) a[i]=p[i*7]; float s=0;
#pragma unroll
for(int j=0;j<60;j++){ float t=a[j]; 
#pragma unroll
for(int i=0;i<60;i++) t=t*a[i]+a[(i*7+j)%60]; s+=t; a[j]=t;} return s; }
__constant__ int first[10000]; __global__ void kf(int*p){ p[0]=first[p[1]]; }
extern __device__ int recursive(int); __device__ int recursive_user(int n){ return recursive(n); }
