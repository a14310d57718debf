// What an instruction waits for at once and how it keeps its distance from others beside slow doubles, and operands that
// are kept.
__global__ void farthest(const double *p, double *q, int n)
{
    double a[4], most = 0;
    for (int i = 0; i < 4; ++i) a[i] = p[threadIdx.x + i * n];
    for (int k = 0; k < n; ++k) {
        const double *o = p + 8 * k;
        double sum = 0;
        for (int i = 0; i < 4; ++i) {
            double d = fmax(0.0, fmax(fabs(o[i] - a[i]) - o[4 + i], 0.0));
            sum = fma(d, d, sum);
        }
        most = fmax(most, sum);
    }
    q[threadIdx.x] = most;
}
__global__ void signs(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    d = copysign(fma(d, c, 3.0), a);
    b *= c;
    for (int i = 0; i < 4; ++i) {
        r += m;
        a = (double)(r * m + n);
        p[r + l] = a;
        r += n * t;
    }
    for (int i = 0; i < m; ++i) {
        r += m;
        c = copysign(a, b);
        p[r + t] = b;
        if (a > b) p[r + l] = c;
    }
    r += t * m;
    b = p[r * n + l];
    p[t] = a + b * c - d + r;
}
__global__ void kept_in_branches(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    r = l * l + r;
    b = d - fabs(c);
    if (b > d) {
        p[r + t] = b;
        a = copysign(d, b);
        c = (double)(r * m + n);
    }
    r = l * r + r;
    c = b > c ? a : 0.0;
    p[t] = a + b * c - d + r;
}
__global__ void kept_behind_loops(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    d = a - fabs(c);
    b = (double)m;
    r = r * r + r;
    for (int i = 0; i < n; ++i) {
        r += m;
        d = fmax(c, d);
        b = fma(b, c, 3.0);
        if (a > d) {
            p[r + m] = c;
            a = (double)(r * m + n);
        }
    }
    c = p[r * n + r];
    if (a > d) c = d / a;
    r = l * m + r;
    c = a - fabs(d);
    p[t] = a + b * c - d + r;
}
__global__ void written_again(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    a = fmax(d, a);
    d = c > b ? c : 0.0;
    c = (double)l;
    r = m * m + r;
    a = a * c + d;
    b = copysign(c, c);
    a = copysign(b, a);
    p[r + r] = d;
    p[r + m] = c;
    p[t] = a + b * c - d + r;
}
__global__ void before_loops(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    for (int i = 0; i < n; ++i) {
        r += m;
        if (b > d) {
            p[r + t] = c;
            a = d * a;
            p[r + m] = d;
        }
        p[r + m] = a;
        for (int k = 0; k < m; ++k) {
            r += m;
            c = c + c;
        }
        a = fma(d, c, 0.5);
    }
    b = c - fabs(c);
    a = a > b ? c : 0.0;
    r = n * l + r;
    p[r + l] = b;
    p[t] = a + b * c - d + r;
}
__global__ void votes(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    for (int i = 0; i < n; ++i) {
        r += m;
        c = b * c;
        c = a > c ? a : 0.0;
        if (c > a) d = p[r * n + m];
        a = p[r * n + n];
    }
    c = a > c ? a : 0.0;
    b = p[r * n + r];
    r = t * t + r;
    if (d > a) p[r + m] = b;
    p[t] = a + b * c - d + r;
}
__global__ void ends_of_blocks(double *p, const double *q, int n, int m, int l)
{
    double a = q[threadIdx.x], b = q[threadIdx.x + n], c = q[threadIdx.x + 2 * n], d = q[threadIdx.x + 3 * n];
    int t = threadIdx.x, r = blockIdx.x * n + m;
    for (int i = 0; i < n; ++i) {
        r += m;
        a = fma(c, c, 3.0);
        for (int k = 0; k < 4; ++k) {
            r += m;
            c = copysign(d, b);
        }
        b = a * a;
    }
    r = t * l + r;
    for (int i = 0; i < n; ++i) {
        r += m;
        if (d > a) a = fmax(b, a);
    }
    p[r + t] = c;
    c = (double)(r * m + n);
    d = b / c;
    b = p[r * n + n];
    a = b / d;
    p[t] = a + b * c - d + r;
}
