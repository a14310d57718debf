//# Shows: the warning about the stack comes once for each callee without bound, also for those behind pointers
//# Compile: a.cu
//# Link: out.cubin = a.cubin
//# CompareText
//# Link: verbose.cubin = -v -dump-callgraph a.cubin
//# CompareText
//# Link: failing.cubin = -Werror a.cubin
//# ExpectExit: 255
//# CompareText
__device__ __noinline__ int fact(int n){ return n<=1?n:n*fact(n-1)+fact(n-2); }
__device__ __noinline__ int odd(int n); __device__ __noinline__ int even(int n){ return n==0?1:odd(n-1)+odd(n-3); }
__device__ __noinline__ int odd(int n){ return n==0?0:even(n-1)+even(n-2)*3; }
__device__ __noinline__ int flat(int n){ return n*n; }
__device__ __noinline__ int over(int n){ return fact(n)+2; }
struct Node { Node *left, *right; __device__ virtual int eval(int x){ return x+(left?left->eval(x):0); } __device__ virtual ~Node(){ delete left; delete right; } };
struct Leaf : Node { __device__ int eval(int x) override { return flat(x); } };
__device__ Node *made[2];
__global__ void make(){ made[0]=new Leaf; made[1]=new Node; }
__global__ void one(int*p){ p[0]=over(p[1])+flat(p[2]); }
__global__ void several(int*p){ p[0]=fact(p[0])+even(p[1])+odd(p[2])+fact(p[3])+over(p[4])+flat(p[5]); }
__global__ void pointers(int*p){ p[0]=made[0]->eval(p[1])+made[1]->eval(p[2]); delete made[1]; }
__global__ void framed(int*p){ int own[40]; for(int i=0;i<40;i++) own[i]=p[i]; p[0]=over(own[p[1]])+own[p[2]&31]; }
