/* Stands in for the CUDA runtime and shows what host code asks of it. Addresses are left out: they differ between runs. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper {
    int magic;
    int version;
    const unsigned char *fatbin;
    const void **parts;
};

static int handles;

static void show_fatbin(const unsigned char *fatbin)
{
    uint64_t size, position = 16;
    memcpy(&size, fatbin + 8, sizeof size);
    printf(" fatbin(");
    while (position < size + 16) {
        uint16_t kind;
        uint32_t header, sm;
        uint64_t payload;
        memcpy(&kind, fatbin + position, sizeof kind);
        memcpy(&header, fatbin + position + 4, sizeof header);
        memcpy(&payload, fatbin + position + 8, sizeof payload);
        memcpy(&sm, fatbin + position + 0x1c, sizeof sm);
        printf(" %u:%u", kind, sm);
        position += header + payload;
    }
    printf(" )");
}

void **__cudaRegisterFatBinary(void *address)
{
    struct wrapper *wrapper = address;
    const void **part;
    printf("__cudaRegisterFatBinary magic %x version %d", wrapper->magic, wrapper->version);
    show_fatbin(wrapper->fatbin);
    if (wrapper->version == 2)
        for (part = wrapper->parts; *part; part++)
            show_fatbin(*part);
    printf("\n");
    return (void **)(intptr_t)++handles;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    printf("__cudaRegisterFatBinaryEnd %d\n", (int)(intptr_t)handle);
    fflush(stdout);
}

void __cudaUnregisterFatBinary(void **handle)
{
    printf("__cudaUnregisterFatBinary %d\n", (int)(intptr_t)handle);
    fflush(stdout);
}

void __cudaRegisterFunction(void **handle, const char *stub, char *name, const char *device_name, int limit, void *a,
    void *b, void *c, void *d, int *e)
{
    (void)stub, (void)a, (void)b, (void)c, (void)d, (void)e;
    printf("__cudaRegisterFunction %d %s %s %d\n", (int)(intptr_t)handle, name, device_name, limit);
}

void __cudaRegisterVar(void **handle, char *variable, char *name, const char *device_name, int external, size_t size,
    int constant, int global)
{
    (void)variable;
    printf("__cudaRegisterVar %d %s %s %d %zu %d %d\n", (int)(intptr_t)handle, name, device_name, external, size,
        constant, global);
}

void __cudaRegisterManagedVar(void **handle, void **variable, char *name, const char *device_name, int external,
    size_t size, int constant, int global)
{
    (void)variable;
    printf("__cudaRegisterManagedVar %d %s %s %d %zu %d %d\n", (int)(intptr_t)handle, name, device_name, external, size,
        constant, global);
}

char __cudaInitModule(void **handle)
{
    printf("__cudaInitModule %d\n", (int)(intptr_t)handle);
    return 0;
}

unsigned __cudaPushCallConfiguration(void)
{
    return 0;
}

unsigned __cudaPopCallConfiguration(void)
{
    return 0;
}

unsigned __cudaGetKernel(void **kernel, const void *stub)
{
    *kernel = (void *)stub;
    return 0;
}

unsigned __cudaLaunchKernel(void)
{
    printf("__cudaLaunchKernel\n");
    return 0;
}

unsigned cudaLaunchKernel(void)
{
    printf("cudaLaunchKernel\n");
    return 0;
}

unsigned cudaMalloc(void **pointer, size_t size)
{
    *pointer = 0;
    printf("cudaMalloc %zu\n", size);
    return 0;
}

unsigned cudaGetLastError(void)
{
    return 0;
}
