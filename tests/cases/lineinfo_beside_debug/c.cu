__global__ void c(int *q) {
    if (q[0] > 2) {
        q[1] = 7;
        return;
    }
    for (int i = 0; i < q[2]; i++)
        q[i + 3] += i;
}
__global__ void d(int *q) { q[9] = 1; }
