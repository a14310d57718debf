__device__ int summed(const char *text, int count) {
    char copy[32];
    int sum = 0;
    for (int i = 0; i < count; i++) copy[i % 40] = text[i] + i;
    for (int i = 0; i < count; i++) sum += copy[i % 32];
    return sum;
}
