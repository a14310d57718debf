extern __shared__ int dynamic[];
extern __shared__ double wide[];
extern __shared__ char third[];

#define KERNEL(name, count, use)                        \
    __global__ void name(int *p)                        \
    {                                                   \
        __shared__ int own[count];                      \
        own[threadIdx.x] = 4;                           \
        use;                                            \
        __syncthreads();                                \
        p[1] = own[threadIdx.x ^ 1];                    \
    }

// Kernels without a variable in common have starts of their own.
KERNEL(first, 6, dynamic[3] = 2)
KERNEL(second, 125, wide[3] = 2)
KERNEL(third_alone, 9, third[3] = 2)
KERNEL(also_second, 40, wide[1] = 3)
