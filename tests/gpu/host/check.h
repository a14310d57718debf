// What the programs share: without a GPU they end with 77, with a wrong result with 1.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void require(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ? 77 : 1);
}

inline void equal(int found, int expected, const char *what) {
    if (found == expected) return;
    std::fprintf(stderr, "%s is %d instead of %d\n", what, found, expected);
    std::exit(1);
}
