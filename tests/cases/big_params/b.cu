struct Large { int values[200]; };
__device__ int sum(Large large, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += large.values[i * 7];
    return s;
}
