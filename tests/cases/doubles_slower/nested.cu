// More places nest where threads meet than there are barriers for that, so that one is saved and brought back: from there to where they meet is a block.
__global__ void nested(double *p, const int *q, int n) {
    double a = p[threadIdx.x], b = p[threadIdx.x + n], c = p[n], x = a, y = b;
    if (q[0] > threadIdx.x) {
        p[3] += a;
        if (q[1] > threadIdx.x) {
            p[4] += a;
            for (int i = threadIdx.x; i < q[2]; i++) {
                p[5] += a;
                for (int k = threadIdx.x; k < q[3]; k++) {
                    p[6] += a;
                    if (q[4] > threadIdx.x) {
                        p[7] += a;
                        if (b < a) {
                            if (b < y) {
                                c = b / y * x + y;
                                x = a / c - x;
                            }
                        } else {
                            c = sqrt(a / x);
                        }
                        a = y - a - b;
                        p[20] += x;
                    }
                    p[21] += x;
                }
                p[22] += x;
            }
            p[23] += x;
        }
        p[24] += x;
    }
    p[threadIdx.x] = a + b * c - x / y;
}
