//# Shows: code that waits for a load which the compiler planned right before it, and stores what that gave before threads end: scoreboards as the time behind such a wait says
//# Archs: 100 120
//# Compile: a.cubin = a.cu
//# Link: out.cubin = a.cubin
//# Link: reporting.cubin = -g a.cubin
//# Link: joined.cubin = -r a.cubin
//# Link: joined-then-reporting.cubin = -g joined.cubin
#define KERNEL(NAME, STORE, LAST)                                              \
    __global__ void NAME(unsigned n, unsigned *p, unsigned *q, unsigned v)     \
    {                                                                          \
        unsigned i = threadIdx.x;                                              \
        unsigned given = q[i];                                                 \
        STORE;                                                                 \
        if (given != v)                                                        \
            LAST;                                                              \
    }
KERNEL(one, p[i] = given, q[i] = v + clock())
KERNEL(later, p[i + n * 3] = given, q[i] = v + clock())
KERNEL(at_once, p[v] = given, q[i] = v + clock())
KERNEL(two, p[i] = given; p[i + n] = given, q[i] = v + clock())
KERNEL(fixed, p[3] = given, q[i] = v + clock())
KERNEL(adds, atomicAdd(p + i, given), q[i] = v + clock())
KERNEL(unused, p[i] = given, q[0] = 1)
KERNEL(bytes, ((unsigned char *)p)[i] = given, q[i] = v)
KERNEL(wide, ((ulonglong2 *)p)[i] = make_ulonglong2(given, v), q[i] = v)
__global__ void doubles(unsigned n, unsigned *p, const double *q, unsigned *out, double v)
{
    unsigned i = threadIdx.x;
    double given = q[i];
    p[i] = __double2loint(given);
    if (given > v)
        out[i] = n + clock();
}
