// The smallest CUDA C++ program that does what umtop's sequential workload times, to compare umtop's figures with.
// Build and run:  nvcc -O3 -arch=native -o um_baseline um_baseline.cu && ./um_baseline MIB PASSES
// Prints one JSON object: nanoseconds by the host clock of a pinned copy host to device, of an on-demand sweep by a kernel
// over managed memory that the CPU wrote, and of a prefetch plus that kernel; each PASSES times, interleaved.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t e, const char *what) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

// As umtop's: four elements to a thread, so that the same pages are wanted at the same time.
__global__ void sweep(uint4 *data, size_t n) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n / 4; i += step) {
        uint4 v = data[i];
        data[i] = make_uint4(v.x * 5 + 3, v.y * 5 + 3, v.z * 5 + 3, v.w * 5 + 3);
    }
}

static long long now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

static void print(const char *name, const std::vector<long long> &times, const char *end) {
    std::printf("\"%s\":[", name);
    for (size_t i = 0; i < times.size(); i++) std::printf("%s%lld", i ? "," : "", times[i]);
    std::printf("]%s", end);
}

int main(int argc, char **argv) {
    size_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    size_t bytes = mib << 20, n = bytes / 4;
    if (mib == 0 || mib > 1024 || passes < 1) {
        std::fprintf(stderr, "usage: um_baseline MIB(1-1024) PASSES\n");
        return 2;
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    uint32_t *host, *device, *managed;
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocManaged(&managed, bytes));
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0};
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    int blocks = card.multiProcessorCount * 8;
    auto kernel = [&] { sweep<<<blocks, 256, 0, stream>>>((uint4 *)managed, n); };
    std::vector<long long> copy, demand, prefetch;
    for (int pass = -2; pass < passes; pass++) {
        for (size_t i = 0; i < n; i++) host[i] = managed[i] = uint32_t(i + pass);
        long long t0 = now();
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        long long t1 = now();
        kernel();
        CHECK(cudaStreamSynchronize(stream));
        long long t2 = now();
        for (size_t i = 0; i < n; i++) managed[i] = uint32_t(i + pass);
        long long t3 = now();
#if CUDART_VERSION >= 13000
        CHECK(cudaMemPrefetchAsync(managed, bytes, gpu, 0, stream));
#else
        (void)gpu;
        CHECK(cudaMemPrefetchAsync(managed, bytes, 0, stream));
#endif
        kernel();
        CHECK(cudaStreamSynchronize(stream));
        long long t4 = now();
        if (pass < 0) continue;
        copy.push_back(t1 - t0);
        demand.push_back(t2 - t1);
        prefetch.push_back(t4 - t3);
    }
    std::printf("{\"bytes\":%zu,", bytes);
    print("pinned_copy_ns", copy, ",");
    print("on_demand_ns", demand, ",");
    print("prefetch_and_kernel_ns", prefetch, "}\n");
    return 0;
}
