#include "noise.cuh"

__device__ unsigned noise(unsigned place, unsigned seed) {
    unsigned bits = place * 0x9e3779b9u ^ seed;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    return bits ^ (bits >> 16);
}
