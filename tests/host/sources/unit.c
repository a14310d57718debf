/* Registers itself as an object with device code does, without any. NAME is the name of its module. */
#include <stdio.h>

#define JOIN(a, b) a##b
#define WITH_NAME(prefix, name) JOIN(prefix, name)
#define WRAPPER WITH_NAME(__fatbinwrap, NAME)
#define REGISTER WITH_NAME(__cudaRegisterLinkedBinary, NAME)
#define TEXT(name) #name
#define NAME_TEXT(name) TEXT(name)

struct wrapper {
    int magic;
    int version;
    const void *fatbin;
    const void *extra;
};

extern void REGISTER(void (*)(void **), const void *, const void *, void (*)(void *));

static const unsigned long long fatbin[2] = {0x00100001ba55ed50, 0};
const struct wrapper WRAPPER = {0x466243b1, 1, fatbin, 0};

static void callback(void **handle)
{
    printf("callback of %s with %d\n", NAME_TEXT(NAME), (int)(long)handle);
}

static void keep(void *address)
{
    (void)address;
}

__attribute__((constructor)) static void construct(void)
{
    REGISTER(callback, &WRAPPER, NAME_TEXT(NAME), keep);
}
