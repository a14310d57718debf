// Runs the kernel of the embedded image.
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <dlfcn.h>

#define COLLATZ_IMPLEMENTATION
#include "collatz.h"

constexpr unsigned LIMIT = 1000000;
constexpr unsigned NUMBER = 837799;
constexpr unsigned STEPS = 524;

static void *driver;

// A function of the driver, by its name in cuda.h, which may stand for a newer one.
#define STRING(name) #name
#define EXPANDED(name) STRING(name)
#define DRIVER(name) reinterpret_cast<decltype(&name)>(find(EXPANDED(name)))

static void *find(const char *name) {
    void *function = dlsym(driver, name);
    if (!function) {
        std::fprintf(stderr, "error: the driver has no %s\n", name);
        std::exit(1);
    }
    return function;
}

static const char *text(CUresult result) {
    const char *text = nullptr;
    DRIVER(cuGetErrorString)(result, &text);
    return text ? text : "unknown error";
}

static void check(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS) {
        std::fprintf(stderr, "error: %s: %s\n", what, text(result));
        std::exit(1);
    }
}

int main() {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        std::printf("no GPU: there is no CUDA driver; %s is linked, %u bytes\n", COLLATZ_SEARCH_NAME,
                    unsigned(COLLATZ_IMAGE_SIZE));
        return 0;
    }
    CUresult begun = DRIVER(cuInit)(0);
    if (begun != CUDA_SUCCESS) {
        std::printf("no GPU: the CUDA driver says: %s\n", text(begun));
        return 0;
    }

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr best;
    check(DRIVER(cuDeviceGet)(&device, 0), "the first device");
    check(DRIVER(cuDevicePrimaryCtxRetain)(&context, device), "a context");
    check(DRIVER(cuCtxSetCurrent)(context), "the context");
    check(DRIVER(cuModuleLoadData)(&module, collatz_image), "loading the image");
    check(DRIVER(cuModuleGetFunction)(&kernel, module, COLLATZ_SEARCH_NAME), "the kernel");
    check(DRIVER(cuMemAlloc)(&best, sizeof(unsigned long long)), "memory");
    check(DRIVER(cuMemsetD32)(best, 0, 2), "clearing the memory");

    unsigned limit = LIMIT;
    void *parameters[] = {&limit, &best};
    check(DRIVER(cuLaunchKernel)(kernel, 256, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), "the launch");
    unsigned long long found = 0;
    check(DRIVER(cuMemcpyDtoH)(&found, best, sizeof found), "the result");

    unsigned number = unsigned(found), steps = unsigned(found >> 32);
    if (number != NUMBER || steps != STEPS) {
        std::fprintf(stderr, "error: found %u with %u steps, it is %u with %u\n", number, steps, NUMBER, STEPS);
        return 1;
    }
    std::printf("below %u, %u takes the most steps: %u\n", LIMIT, number, steps);
}
