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

// The block in which a barrier is saved has that behind it six cycles later, and waits for it at its end.
__global__ void saved(double *p, const int *q, int n) {
    double a = p[threadIdx.x], b = p[threadIdx.x + n], c = p[n], x = a, y = b;
    if (q[0] > threadIdx.x) {
        p[3] += a;
        for (int i = threadIdx.x; i < q[1]; i++) {
            p[4] += a;
            if (q[2] > threadIdx.x) {
                p[5] += a;
                if (q[3] > threadIdx.x) {
                    p[6] += a;
                    if (q[4] > threadIdx.x) {
                        p[7] += a;
                        for (int k = threadIdx.x; k < q[5]; k++) {
                            p[8] += a;
                            if (a < y) {
                                if (c < y) {
                                    a = c / a * b + a;
                                }
                                x = (y - a) * x + x;
                            } else {
                                c = a * b + c - a;
                            }
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
        p[25] += x;
    }
    p[threadIdx.x] = a + b * c - x / y;
}
