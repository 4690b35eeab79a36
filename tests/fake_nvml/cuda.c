// A CUDA driver over host memory, so that the real binary runs its live path where there is no GPU. It computes what
// kernels/touch.cu computes, one thread after the other; it moves nothing, and nothing is to be timed with it.
// Scripts work as for NVML (script.h): `cuStreamSynchronize * delay 20` makes passes last.

#include "script.h"

typedef unsigned u32;
typedef unsigned long long u64;
typedef struct { unsigned type; int id; } location;

#define OUT_OF_MEMORY 2

#define CALL(name)                               \
    struct call call;                            \
    int code = begin(#name, &call);              \
    if (code) return code
#define NOTHING(name, ...)                       \
    int name(__VA_ARGS__) {                      \
        CALL(name);                              \
        return 0;                                \
    }

NOTHING(cuInit, unsigned flags)
NOTHING(cuDevicePrimaryCtxRelease_v2, int device)
NOTHING(cuDevicePrimaryCtxReset_v2, int device)
NOTHING(cuCtxSetCurrent, void *context)
NOTHING(cuStreamDestroy_v2, void *stream)
NOTHING(cuStreamSynchronize, void *stream)
NOTHING(cuStreamWaitEvent, void *stream, void *event, unsigned flags)
NOTHING(cuEventDestroy_v2, void *event)
NOTHING(cuModuleUnload, void *module)
NOTHING(cuMemAdvise_v2, u64 pointer, size_t bytes, unsigned advice, location to)
NOTHING(cuMemPrefetchAsync_v2, u64 pointer, size_t bytes, location to, unsigned flags, void *stream)

int cuDriverGetVersion(int *out) {
    CALL(cuDriverGetVersion);
    *out = 13000;
    return 0;
}

int cuDeviceGetCount(int *out) {
    CALL(cuDeviceGetCount);
    *out = (int)value(call, 0, 1);
    return 0;
}

int cuDeviceGet(int *out, int ordinal) {
    CALL(cuDeviceGet);
    *out = ordinal;
    return 0;
}

int cuDeviceGetName(char *out, int room, int device) {
    CALL(cuDeviceGetName);
    text(call, "Fake GPU", out, (unsigned)room);
    return 0;
}

// GPU-00112233-4455-6677-8899-aabbccddeeff, a second GPU GPU-10…; `value N` changes the first byte, as if
// CUDA_VISIBLE_DEVICES chose another.
int cuDeviceGetUuid(unsigned char *out, int device) {
    CALL(cuDeviceGetUuid);
    for (int i = 0; i < 16; i++) out[i] = (unsigned char)(17 * i);
    out[0] = (unsigned char)(value(call, 0, 0) + 16 * device);
    return 0;
}

int cuDeviceGetPCIBusId(char *out, int room, int device) {
    CALL(cuDeviceGetPCIBusId);
    text(call, "0000:65:00.0", out, (unsigned)room);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *out, int device) {
    CALL(cuDeviceTotalMem_v2);
    *out = 150754820096ull;
    return 0;
}

// Compute capability 9.0, one multiprocessor; of the rest, what a GPU may have it has.
int cuDeviceGetAttribute(int *out, int attribute, int device) {
    CALL(cuDeviceGetAttribute);
    *out = attribute == 75 ? 9 : attribute == 76 ? 0 : 1;
    // Neither reads malloc memory, as without HMM.
    if (attribute == 88 || attribute == 100) *out = 0;
    return 0;
}

#define HANDLE(name, ...)                        \
    int name(void **out, __VA_ARGS__) {          \
        CALL(name);                              \
        *out = (void *)out;                      \
        return 0;                                \
    }

HANDLE(cuDevicePrimaryCtxRetain, int device)
HANDLE(cuStreamCreate, unsigned flags)
HANDLE(cuEventCreate, unsigned flags)
HANDLE(cuModuleLoadDataEx, const void *image, unsigned count, void *options, void *values)

NOTHING(cuEventRecord, void *event, void *stream)

int cuEventElapsedTime(float *out, void *from, void *to) {
    CALL(cuEventElapsedTime);
    *out = 1;
    return 0;
}

int cuModuleGetFunction(void **out, void *module, const char *name) {
    CALL(cuModuleGetFunction);
    *out = strdup(name);
    return 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    CALL(cuMemGetInfo_v2);
    *total = 150754820096ull;
    *available = 150000000000ull;
    return 0;
}

static int allocate(void **out, size_t bytes) {
    return posix_memalign(out, 4096, bytes) ? OUT_OF_MEMORY : (memset(*out, 0, bytes), 0);
}

int cuMemAlloc_v2(u64 *out, size_t bytes) {
    CALL(cuMemAlloc_v2);
    return allocate((void **)out, bytes);
}

int cuMemAllocManaged(u64 *out, size_t bytes, unsigned flags) {
    CALL(cuMemAllocManaged);
    return allocate((void **)out, bytes);
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
    CALL(cuMemHostAlloc);
    return allocate(out, bytes);
}

int cuMemHostGetDevicePointer_v2(u64 *out, void *host, unsigned flags) {
    CALL(cuMemHostGetDevicePointer_v2);
    *out = (u64)host;
    return 0;
}

int cuMemFree_v2(u64 pointer) {
    CALL(cuMemFree_v2);
    free((void *)pointer);
    return 0;
}

int cuMemFreeHost(void *pointer) {
    CALL(cuMemFreeHost);
    free(pointer);
    return 0;
}

int cuMemsetD32Async(u64 pointer, u32 number, size_t count, void *stream) {
    CALL(cuMemsetD32Async);
    for (size_t i = 0; i < count; i++) ((u32 *)pointer)[i] = number;
    return 0;
}

int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, void *stream) {
    CALL(cuMemcpyHtoDAsync_v2);
    memcpy((void *)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, void *stream) {
    CALL(cuMemcpyDtoHAsync_v2);
    memcpy(to, (void *)from, bytes);
    return 0;
}

// As in kernels/touch.cu.
static u64 permute(u64 i, u64 n, u32 seed) {
    int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
    u64 mask = bits == 64 ? ~0ull : (1ull << bits) - 1, x = i;
    int shift = bits / 2 > 1 ? bits / 2 : 1;
    do {
        x = (x + seed) & mask;
        x = (x * 0x9E3779B97F4A7C15ull) & mask;
        x ^= x >> shift;
        x = (x * 0xD6E8FEB86659FD93ull) & mask;
        x ^= x >> shift;
    } while (x >= n);
    return x;
}

#define ARG(type, place) (*(type *)parameters[place])

static void touch(const char *kernel, void **parameters) {
    u32 *data = ARG(u32 *, 0), mul = ARG(u32, 5), plus = ARG(u32, 6), access = ARG(u32, 7), sum = 0;
    u64 first = ARG(u64, 1), elements = ARG(u64, 2), count = ARG(u64, 3), shape = ARG(u64, 4);
    u64 rows = strcmp(kernel, "touch_strided") ? 1 : elements / shape;
    int random = !strcmp(kernel, "touch_random"), strided = !strcmp(kernel, "touch_strided");
    for (u64 k = 0; k < count; k++) {
        u64 i = first + (random ? permute(k, elements, (u32)shape) : strided ? k % rows * shape + k / rows : k);
        if (access == 0) sum += data[i];
        if (access == 1) data[i] = mul * (u32)i + plus;
        if (access == 2) data[i] = data[i] * mul + plus;
    }
    if (access == 0) *ARG(u32 *, 8) += sum;
}

int cuLaunchKernel(const char *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    CALL(cuLaunchKernel);
    if (!strcmp(kernel, "work")) {
        u32 *data = ARG(u32 *, 0) + ARG(u64, 1), mul = ARG(u32, 3), plus = ARG(u32, 4);
        for (u64 i = 0; i < ARG(u64, 2); i++)
            for (u32 n = 0; n < ARG(u32, 5); n++) data[i] = data[i] * mul + plus;
    } else if (!strcmp(kernel, "add")) {
        u64 first = ARG(u64, 3), end = first + ARG(u64, 4);
        for (u64 i = first; i < end; i++) ARG(u32 *, 0)[i] = ARG(u32 *, 1)[i] + ARG(u32 *, 2)[i];
    } else {
        touch(kernel, parameters);
    }
    return 0;
}
