#include <cstdio>

__device__ int say(int value) { return printf("the answer is %d, said by %s\n", value, "the device"); }
