#include "numbers.h"

__global__ void kernel(int *p) { *p = numbers[*p & 3]; }
