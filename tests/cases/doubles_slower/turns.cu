// Threads that try again let others go first behind a comparison of doubles.
__global__ void greatest(const double *a, double *most, int n) {
    double own = fabs(a[threadIdx.x]);
    unsigned long long *place = (unsigned long long *)(most + n * blockIdx.x);
    unsigned long long old = *place;
    while (own > __longlong_as_double(old)) {
        unsigned long long seen = atomicCAS(place, old, __double_as_longlong(own));
        if (seen == old) break;
        old = seen;
    }
}
