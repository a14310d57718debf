
struct wrapper {
    int magic;
    int version;
    const void *fatbin;
    const void *extra;
};

typedef void callback(void **handle);

extern void **__cudaRegisterFatBinary(void *wrapper);
extern void __cudaRegisterFatBinaryEnd(void **handle);
extern void __cudaUnregisterFatBinary(void **handle);
extern int atexit(void (*function)(void));

static unsigned count;
static void **handle;
/* The fatbins of the modules that have come, and a null pointer. */
static const void *parts[MODULES + 1];
static callback *callbacks[MODULES];

WRAPPER_SECTION static struct wrapper linked = {0x466243b1, 2, fatbin, parts};

static void cudalink_unregister(void)
{
    __cudaUnregisterFatBinary(handle);
}

/* The last module that comes hands everything to the runtime. */
static void cudalink_register(callback *call, const struct wrapper *from)
{
    unsigned i;
    if (count >= MODULES)
        return;
    parts[count] = from->fatbin;
    callbacks[count] = call;
    if (++count != MODULES)
        return;
    handle = __cudaRegisterFatBinary(&linked);
    atexit(cudalink_unregister);
    for (i = 0; i < MODULES; i++)
        callbacks[i](handle);
    __cudaRegisterFatBinaryEnd(handle);
}
