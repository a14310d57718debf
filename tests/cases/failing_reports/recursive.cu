__device__ int recursive(int n){ int own[8]; for(int i=0;i<8;i++) own[i]=n+i; return n<=1?own[n&7]:n*recursive(n-1)+own[n&3]; }
