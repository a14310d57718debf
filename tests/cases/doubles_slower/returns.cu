// What waits for a return alone shares a scoreboard.
__noinline__ __device__ double chosen(double x, double y, double z) {
    double u = x + 1.0;
    if (x > z) {
        x = fabs(u) > y ? y : u;
        u = y + z;
        z = y * z;
        x = fabs(z) > x ? y : z;
        u = y * y;
        y = x * x;
        z = z * z + z;
        z = x * y;
        u = y * x + x;
        u = fabs(u) > u ? x : u;
        x = y * x + z;
    }
    if (z > y) {
        u = z * y;
        y = y * y + y;
        y = fabs(x) > x ? y : x;
        z = z + z;
        u = u * z;
    }
    return z + z;
}

__global__ void returns(double *p) {
    p[3] = chosen(p[0], p[1], p[2]);
}
