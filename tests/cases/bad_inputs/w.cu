__global__ void kk(int*p){*p=1;}
