// Multiplies two vectors and checks the result, whose value is known.
#include <cstdio>
#include <vector>

#include "dot.h"

constexpr unsigned LENGTH = 1 << 20;
constexpr unsigned THREADS = 256;

__global__ void dot(const double *left, const double *right, double *result) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    double sum = block_sum(left[i] * right[i]);
    if (threadIdx.x == 0) {
        atomicAdd(result, sum);
    }
}

static bool ok(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString(error));
    }
    return error == cudaSuccess;
}

int main() {
    int devices = 0;
    cudaError_t found = cudaGetDeviceCount(&devices);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver) {
        std::printf("no GPU: %s; the program is linked, and needs one to compute\n", cudaGetErrorString(found));
        return 0;
    }

    // 1 * 2 + 2 * 2 + 3 * 2 + ..
    std::vector<double> left(LENGTH), right(LENGTH, 2);
    for (unsigned i = 0; i < LENGTH; i++) {
        left[i] = i + 1;
    }
    double expected = double(LENGTH) * (LENGTH + 1.0);

    size_t size = LENGTH * sizeof(double);
    double *left_there, *right_there, *result_there;
    double result = 0;
    bool done = ok(cudaMalloc(&left_there, size), "memory")
        && ok(cudaMalloc(&right_there, size), "memory")
        && ok(cudaMalloc(&result_there, sizeof result), "memory")
        && ok(cudaMemcpy(left_there, left.data(), size, cudaMemcpyDefault), "copying")
        && ok(cudaMemcpy(right_there, right.data(), size, cudaMemcpyDefault), "copying")
        && ok(cudaMemcpy(result_there, &result, sizeof result, cudaMemcpyDefault), "copying");
    if (!done) {
        return 1;
    }
    dot<<<LENGTH / THREADS, THREADS>>>(left_there, right_there, result_there);
    done = ok(cudaGetLastError(), "launching the kernel")
        && ok(cudaMemcpy(&result, result_there, sizeof result, cudaMemcpyDefault), "reading the result");
    if (!done) {
        return 1;
    }
    // All partial sums are whole numbers that a double holds exactly.
    if (result != expected) {
        std::fprintf(stderr, "error: the product is %.17g, not %.17g\n", result, expected);
        return 1;
    }
    std::printf("the product of two vectors of %u numbers is %.17g\n", LENGTH, result);
}
