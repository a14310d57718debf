extern __device__ int ask(int);
__global__ void asks(int*p,int n){ int v=ask(n); bool f=v>5; if (f) p[2]=v; int w=ask(v); if (f && w==v) return; p[n]=ask(w); }
__global__ void later(int*p,int n){ int v=ask(n); bool f=p[n]>5; if (f) p[2]=v; int w=ask(v); int x=p[w]; if (f && x!=v) return; p[n+1]=w*x; p[n]=ask(w); }
__global__ void doubles(double*p,int n){ int v=ask(n); bool f=p[n]>5; if (f) p[2]=v; double w=ask(v)*p[3]; if (f && w!=p[4]) return; p[n]=ask(n)*w; }
__global__ void votes(int*p,int n){ int v=ask(n); bool f=v>5; if (f) p[2]=v; int w=ask(v); if (f && __any_sync(0xffffffff,w==v)) return; p[n]=ask(w); }
__global__ void longs(long long*p,int n){ int v=ask(n); bool f=v>5; if (f) p[2]=v; long long w=p[ask(v)]; if (f && w==p[1]) return; p[n]=ask(n)+w; }
__global__ void shuffles(int*p,unsigned long long h,int n){ int v=ask(n); unsigned long long w=h*v, q=__shfl_up_sync(0xffffffff,w,1); if (q==w && (threadIdx.x&31)) return; int k=atomicAdd(p,1); p[k]=ask(k); if(k>n) asm volatile("trap;"); }
__global__ void floats(float*p,int n){ float v=p[ask(n)]; bool f=v>5; if (f) p[2]=v; float w=p[ask(n+1)]; if (f && w<v) return; p[n]=ask(n)*w; }
__global__ void chains(float*p,int n){ float v=p[ask(n)]; bool f=v>5; if (f) p[2]=v; float w=p[ask(n+1)]; if (f && w<v) return; p[n]=w; if (!f && w>2) return; p[n+2]=w; if (!f && w*w>v) return; p[ask(n)]=v; }
