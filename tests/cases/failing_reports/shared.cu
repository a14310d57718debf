__shared__ int tile[70000]; __device__ int more(int n){ return tile[n]; }
__device__ int recursive(int n){ return n<=1?n:n*recursive(n-1)+recursive(n-2); }
__constant__ int second[10000]; __global__ void ks(int*p){ p[0]=second[p[1]]+recursive(p[2]); }
