__device__ __noinline__ int mix(int value) { return value * 3 + 1; }

__device__ int select(int which, int value) {
    switch (which) {
    case 0: return mix(value) + 1;
    case 1: return value * value;
    case 2: return mix(value * 5) - 2;
    case 3: return value / 3;
    case 4: return mix(mix(value));
    case 5: return value % 7;
    case 6: return mix(value) * mix(value + 1);
    case 7: return value << 3;
    default: return -value;
    }
}
