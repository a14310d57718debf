__constant__ unsigned table[64];
__constant__ unsigned first[4];
extern "C" __global__ void sum(unsigned *out, unsigned n) {
    unsigned x = 0, y = threadIdx.x;
    // The compiler adds constants to registers: first to one that all threads share, then to one of each.
    for (unsigned i = 0; i < n; i++) { const unsigned *row = table + 8 * i; x = x * row[0] + row[1] * row[2] + row[5]; __syncthreads(); }
    for (unsigned i = 0; i < n; i++) { const unsigned *row = table + (y & 7); y = y * row[1] + row[2]; __syncthreads(); }
    out[threadIdx.x] = x + y + first[1] * first[3];
}
