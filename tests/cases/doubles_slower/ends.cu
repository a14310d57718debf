// What ends in its turn need not be waited for to be written again, and comparisons read their operands as late as others.

__noinline__ __device__ double again(double x, double y, double z) {
    double u = x + 1.0;
    if (z > y) {
        u = z + y;
        z = fabs(x) > u ? u : x;
        z = x * u;
        x = u * y;
        y = x * x;
        u = z * y;
        u = y * u;
        x = u * x + z;
        u = x * y + y;
        u = z + z;
    }
    if (z > z) {
        x = z + u;
        z = fabs(z) > z ? y : z;
        u = y * u;
        y = fabs(z) > y ? x : z;
    }
    if (u > y) {
        y = x + y;
        z = u + y;
        u = z + z;
        x = y * z + x;
        y = u * z + u;
        y = x + x;
        x = u * u;
    }
    return x + y;
}

__noinline__ __device__ double compared(double x, double y, double z) {
    double u = x + 1.0;
    if (u > z) {
        y = fabs(x) > x ? u : x;
        y = fabs(y) > u ? x : y;
        y = fabs(x) > y ? z : x;
    }
    if (z > u) {
        y = u * z;
        u = y + u;
        z = fabs(x) > x ? u : x;
        x = fabs(u) > x ? y : u;
        z = x * z;
        z = y * y;
        u = y * u + u;
        z = x * z + z;
        x = z * y;
        x = fabs(y) > u ? z : y;
        u = u * x + u;
        x = x * x + z;
    }
    return fabs(z) > z ? y : z;
}

__global__ void ends(double *p) {
    p[3] = again(p[0], p[1], p[2]) + compared(p[0], p[1], p[2]);
}
