// Loads linked images with the CUDA driver, launches their kernel `test`, and checks what it wrote.
//
//     loader arch             prints the architecture of the GPU, such as sm_90
//     loader run FOLDER       runs every program whose image lies in the folder
//
// Ends with 0 if all is well, 1 if something is wrong, and 77 where there is no GPU. The driver library is opened at run
// time, so that the program is built and starts without one.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

const int NO_GPU = 77;
const int THREADS = 32;
/// Enough for the recursion of 32 calls.
const size_t STACK_BYTES = 16 << 10;

[[noreturn]] void end(int code, const std::string &why) {
    fprintf(stderr, "%s\n", why.c_str());
    exit(code);
}

// The part of the driver's interface that is used, as cuda.h declares it.
typedef int Result;
typedef int Device;
typedef unsigned long long Address;
typedef struct Context_ *Context;
typedef struct Module_ *Module;
typedef struct Function_ *Function;
const int ATTRIBUTE_MAJOR = 75;
const int ATTRIBUTE_MINOR = 76;
const int LIMIT_STACK_SIZE = 0;

struct Driver {
    Result (*init)(unsigned);
    Result (*error_string)(Result, const char **);
    Result (*device_count)(int *);
    Result (*device_get)(Device *, int);
    Result (*device_attribute)(int *, int, Device);
    Result (*context_retain)(Context *, Device);
    Result (*context_use)(Context);
    Result (*context_limit)(int, size_t);
    Result (*synchronize)();
    Result (*module_load)(Module *, const void *);
    Result (*module_function)(Function *, Module, const char *);
    Result (*module_global)(Address *, size_t *, Module, const char *);
    Result (*allocate)(Address *, size_t);
    Result (*fill)(Address, unsigned, size_t);
    Result (*to_device)(Address, const void *, size_t);
    Result (*to_host)(void *, Address, size_t);
    Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                     void **);

    Driver() {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library) {
            end(NO_GPU, std::string("this test needs a GPU, and there is no CUDA driver: ") + dlerror());
        }
        find(library, init, "cuInit");
        find(library, error_string, "cuGetErrorString");
        find(library, device_count, "cuDeviceGetCount");
        find(library, device_get, "cuDeviceGet");
        find(library, device_attribute, "cuDeviceGetAttribute");
        find(library, context_retain, "cuDevicePrimaryCtxRetain");
        find(library, context_use, "cuCtxSetCurrent");
        find(library, context_limit, "cuCtxSetLimit");
        find(library, synchronize, "cuCtxSynchronize");
        find(library, module_load, "cuModuleLoadData");
        find(library, module_function, "cuModuleGetFunction");
        find(library, module_global, "cuModuleGetGlobal_v2");
        find(library, allocate, "cuMemAlloc_v2");
        find(library, fill, "cuMemsetD32_v2");
        find(library, to_device, "cuMemcpyHtoD_v2");
        find(library, to_host, "cuMemcpyDtoH_v2");
        find(library, launch, "cuLaunchKernel");
        Result result = init(0);
        int devices = 0;
        if (result == 0) {
            result = device_count(&devices);
        }
        if (result != 0 || devices == 0) {
            end(NO_GPU, "this test needs a GPU, and the driver offers none: " + text(result));
        }
    }

    template <typename F> static void find(void *library, F &function, const char *name) {
        function = reinterpret_cast<F>(dlsym(library, name));
        if (!function) {
            end(1, std::string("the CUDA driver has no ") + name);
        }
    }

    std::string text(Result result) const {
        const char *text = nullptr;
        error_string(result, &text);
        return text ? text : "error " + std::to_string(result);
    }

    void check(Result result, const char *what) const {
        if (result != 0) {
            end(1, std::string(what) + ": " + text(result));
        }
    }

    std::string arch() const {
        Device device;
        int major = 0, minor = 0;
        check(device_get(&device, 0), "no device");
        check(device_attribute(&major, ATTRIBUTE_MAJOR, device), "no architecture");
        check(device_attribute(&minor, ATTRIBUTE_MINOR, device), "no architecture");
        return "sm_" + std::to_string(10 * major + minor);
    }
};

struct Program {
    const char *name;
    /// What thread `i` writes.
    int (*expected)(int i);
    size_t dynamic_shared;
    /// What the host writes to the variable `host_value`; 0 without one.
    int host_value;
    /// What the device prints.
    const char *printed;
};

int mix(int value) { return value * 3 + 1; }

int selected(int which, int value) {
    switch (which) {
    case 0: return mix(value) + 1;
    case 1: return value * value;
    case 2: return mix(value * 5) - 2;
    case 3: return value / 3;
    case 4: return mix(mix(value));
    case 5: return value % 7;
    case 6: return mix(value) * mix(value + 1);
    case 7: return value << 3;
    default: return -value;
    }
}

const Program PROGRAMS[] = {
    {"globals", [](int i) { return 50 + (i % 4) * (i % 4) + 2 + 1000; }, 0, 50, ""},
    {"constants", [](int i) { return (2 * (i % 4) + 1) * 6 + 10 * (i / 8 + 1); }, 0, 6, ""},
    {"shared", [](int i) { return 31 - i + 100 * ((i + 1) % 32) + 1000 * (31 - i); }, 0, 0, ""},
    {"calls", [](int i) { return (2 * (i + 3) + 4) * 10 + 1; }, 0, 0, ""},
    {"pointers",
     [](int i) {
         const int results[] = {i + 1, i * i, -i};
         return results[i % 3] + 1000 * (i / 2);
     },
     0, 0, ""},
    {"recursion", [](int i) { return i % 2 == 0 ? 1 : 2; }, 0, 0, ""},
    {"printf", [](int i) { return i == 0 ? 2 : 0; }, 0, 0, "the answer is 42, said by the device\n"},
    {"dynamic_shared", [](int i) { return 10 * (31 - i) - 1; }, THREADS * sizeof(int), 0, ""},
    {"jump_table", [](int i) { return selected(i % 10, i); }, 0, 0, ""},
    {"templates", [](int i) { return 3 * (i + 1) + 1000 * (3 * (i + 2) + 5 * i); }, 0, 0, ""},
    {"math",
     [](int i) {
         double angle = 1e6 * (i + 1);
         return int(rint(1e6 * sin(angle))) + int(rint(1e6 * (cos(angle) + pow(2.5, 1.5))));
     },
     0, 0, ""},
};

std::vector<char> read(const std::string &path) {
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) {
        end(1, "cannot open " + path);
    }
    std::vector<char> bytes;
    char block[4096];
    for (size_t size; (size = fread(block, 1, sizeof block, file)) > 0;) {
        bytes.insert(bytes.end(), block, block + size);
    }
    fclose(file);
    return bytes;
}

/// Collects what the driver prints for the device.
class Printed {
    FILE *file = tmpfile();
    int before = dup(STDOUT_FILENO);

  public:
    Printed() {
        if (!file || before < 0) {
            end(1, "cannot catch the output of the device");
        }
        fflush(stdout);
        dup2(fileno(file), STDOUT_FILENO);
    }

    std::string text() {
        fflush(stdout);
        dup2(before, STDOUT_FILENO);
        rewind(file);
        char text[4096];
        return std::string(text, fread(text, 1, sizeof text, file));
    }
};

/// Runs one program in a process of its own: after a fault the driver refuses everything.
void run(const Program &program, const std::string &folder) {
    std::vector<char> image = read(folder + "/" + program.name + ".cubin");
    Driver driver;
    Device device;
    Context context;
    driver.check(driver.device_get(&device, 0), "no device");
    driver.check(driver.context_retain(&context, device), "no context");
    driver.check(driver.context_use(context), "no context");
    driver.check(driver.context_limit(LIMIT_STACK_SIZE, STACK_BYTES), "no stack");
    Module module;
    driver.check(driver.module_load(&module, image.data()), "the driver does not load the image");
    Function function;
    driver.check(driver.module_function(&function, module, "test"), "no kernel");
    if (program.host_value) {
        Address variable;
        size_t size = 0;
        driver.check(driver.module_global(&variable, &size, module, "host_value"), "no variable");
        if (size != sizeof program.host_value) {
            end(1, "the variable has " + std::to_string(size) + " bytes");
        }
        driver.check(driver.to_device(variable, &program.host_value, size), "cannot set the variable");
    }
    Address out;
    driver.check(driver.allocate(&out, THREADS * sizeof(int)), "no memory");
    driver.check(driver.fill(out, 0xdeadbeef, THREADS), "cannot fill memory");
    void *arguments[] = {&out};
    Printed printed;
    Result result =
        driver.launch(function, 1, 1, 1, THREADS, 1, 1, program.dynamic_shared, nullptr, arguments, nullptr);
    if (result == 0) {
        result = driver.synchronize();
    }
    std::string text = printed.text();
    driver.check(result, "the kernel fails");
    if (text != program.printed) {
        end(1, "the device prints '" + text + "', expected is '" + program.printed + "'");
    }
    int values[THREADS];
    driver.check(driver.to_host(values, out, sizeof values), "cannot read memory");
    for (int i = 0; i < THREADS; i++) {
        int expected = program.expected(i);
        if (values[i] != expected) {
            end(1, "thread " + std::to_string(i) + " writes " + std::to_string(values[i]) + ", expected is " +
                       std::to_string(expected));
        }
    }
}

int run_all(const std::string &folder) {
    int failed = 0;
    for (const Program &program : PROGRAMS) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) {
            end(1, "cannot start a process");
        }
        if (child == 0) {
            run(program, folder);
            exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GPU) {
            return NO_GPU;
        }
        bool is_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        printf("%s %s\n", is_ok ? "ok    " : "FAILED", program.name);
        failed += !is_ok;
    }
    printf("%d failed\n", failed);
    return failed != 0;
}

} // namespace

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "arch") == 0) {
        printf("%s\n", Driver().arch().c_str());
        return 0;
    }
    if (count == 2 && strcmp(words[1], "names") == 0) {
        for (const Program &program : PROGRAMS) {
            printf("%s\n", program.name);
        }
        return 0;
    }
    if (count == 3 && strcmp(words[1], "run") == 0) {
        return run_all(words[2]);
    }
    end(2, "usage: loader arch | loader names | loader run FOLDER");
}
