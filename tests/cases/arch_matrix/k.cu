//# Shows: object arch against link arch: compatible minor versions, a/f suffixes, families, messages
//# Archs: 90
//# For: object = 75 80 86 87 90 90a 100 100a 100f 103 120 121
//# For: link = 75 80 86 87 89 90 90a 100 100a 100f 103 120 121
//# Compile: k{object}.cubin = k.cu -arch=sm_{object}
//# Link: {object}_on_{link}.cubin = -arch=sm_{link} k{object}.cubin
//# ExpectExit: any
//# CompareText
//# Golden: messages.txt
__device__ int g_count;
__device__ __noinline__ float helper(float x,int n){ float a[32]; for(int i=0;i<32;i++) a[i]=x*i; g_count++; return a[n&31]; }
__global__ void k2(float*p){ p[0]=helper(p[1],3);} 
