static __device__ int same(int n){ return n*7; }
template<class T> __device__ T sum(T*p,T n){ T all=0; for(T i=0;i<n;i++){ T one=p[i]*i; if(one>4){ T more=one+p[i+1]; all+=more; } all+=one; } return all; }
__global__ void second(int*p){ p[0]=sum(p,p[1])+same(p[3]); }
