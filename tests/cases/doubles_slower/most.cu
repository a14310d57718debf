// A comparison decides before it has read its operands: what overwrites these comes later, though it need not wait.
__global__ void most(const double *a, double *b, unsigned n) {
    __shared__ double shared[128];
    double m = -1.0e300;
    double *own = shared + threadIdx.x;
    *own = m;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        double x = a[i];
        if (x > m) {
            m = x;
            *(volatile double *)own = x;
        }
    }
    __syncthreads();
    b[threadIdx.x] = m + shared[threadIdx.x ^ 5];
}

// The same behind another one.
__global__ void most_of_some(const double *a, double *b, unsigned n) {
    __shared__ double shared[128];
    double m = -1.0e300;
    double *own = shared + threadIdx.x;
    *own = m;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        double x = a[i];
        if (x > 0.25) {
            double y = b[i];
            if (y > m) {
                m = y;
                *(volatile double *)own = y;
            }
        }
    }
    __syncthreads();
    b[threadIdx.x] = m + shared[threadIdx.x ^ 5];
}

// What it decides overwrites nothing that it reads, and is not later.
__global__ void last_above(const double *a, double *b, unsigned n) {
    __shared__ double shared[128];
    double m = 1.0, least = a[0];
    double *own = shared + threadIdx.x;
    *own = m;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        double x = a[i];
        if (x > least) {
            m = x;
            *(volatile double *)own = x;
        }
    }
    __syncthreads();
    b[threadIdx.x] = m + shared[threadIdx.x ^ 5];
}
