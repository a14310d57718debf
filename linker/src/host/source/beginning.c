/* Linked device code, and the functions that register it with the CUDA runtime. */

#if defined(__APPLE__)
#error "the CUDA runtime has no macOS version"
#elif defined(_MSC_VER)
#pragma section(".nv_fatb", read)
#pragma section(".nvFatBi", read, write)
#pragma section("__nv_mod", read)
#define FATBIN_SECTION __declspec(allocate(".nv_fatb")) __declspec(align(8))
#define WRAPPER_SECTION __declspec(allocate(".nvFatBi")) __declspec(align(8))
#define MODULE_ID_SECTION __declspec(allocate("__nv_mod"))
#define HIDDEN
#else
#define FATBIN_SECTION __attribute__((used, section(".nv_fatbin"), aligned(8)))
#define WRAPPER_SECTION __attribute__((used, section(".nvFatBinSegment"), aligned(8)))
#define MODULE_ID_SECTION __attribute__((used, section("__nv_module_id")))
/* A library and a program that hold the same module each register their own. */
#define HIDDEN __attribute__((visibility("hidden")))
#endif
