// A program to be watched: the CPU writes managed memory, a kernel works on it, the CPU reads it back, for some seconds.
// Build and run:  nvcc -g -O1 -arch=native -o watch_target watch_target.cu && ./watch_target SECONDS [MIB] [idle]
// "idle" makes the context only after 2 s, so that a watcher can be seen waiting. Prints "ready PID" before the first round that
// counts, and at its end one JSON object: what it knows it moved each way and, for every round, the nanoseconds of the
// GPU's sweep and of the CPU's read-back with the moment at which the round began (CLOCK_MONOTONIC_RAW, as umtop's), so that
// rounds can be told apart by what watched them. SIGTERM ends it early, with its figures.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>

static void check(cudaError_t e, const char *what) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

static std::atomic<bool> stopped{false};
static void stop(int) { stopped = true; }

__global__ void sweep(uint32_t *data, size_t n) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) data[i] = data[i] * 3u + 1u;
}

static long long now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// The two functions whose lines umtop should name.
__attribute__((noinline)) static void fill_on_cpu(uint32_t *data, size_t n, uint32_t value) {
    for (size_t i = 0; i < n; i++)
        data[i] = value + uint32_t(i); // CPU WRITES HERE
}

__attribute__((noinline)) static size_t check_on_cpu(const uint32_t *data, size_t n, uint32_t value) {
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += data[i] != (value + uint32_t(i)) * 3u + 1u; // CPU READS HERE
    return wrong;
}

struct Round { long long at, gpu, cpu; };

int main(int argc, char **argv) {
    double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    size_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256;
    if (seconds <= 0 || mib == 0 || mib > 1024) {
        std::fprintf(stderr, "usage: watch_target SECONDS MIB(1-1024) [idle]\n");
        return 2;
    }
    std::signal(SIGTERM, stop);
    if (argc > 3 && !std::strcmp(argv[3], "idle")) {
        std::printf("idle %d\n", int(getpid()));
        std::fflush(stdout);
        sleep(2);
    }
    size_t n = (mib << 20) / 4, wrong = 0;
    uint32_t *data;
    CHECK(cudaMallocManaged(&data, mib << 20));
    std::vector<Round> rounds;
    auto round = [&](uint32_t value) {
        Round r;
        r.at = now();
        fill_on_cpu(data, n, value);
        long long t0 = now();
        sweep<<<132 * 8, 256>>>(data, n);
        CHECK(cudaDeviceSynchronize());
        long long t1 = now();
        wrong += check_on_cpu(data, n, value);
        r.gpu = t1 - t0;
        r.cpu = now() - t1;
        return r;
    };
    round(0);
    std::printf("ready %d\n", int(getpid()));
    std::fflush(stdout);
    long long end = now() + (long long)(seconds * 1e9);
    for (uint32_t value = 1; now() < end && !stopped; value++) rounds.push_back(round(value));
    std::printf("{\"program\":\"cuda\",\"rounds\":%zu,\"bytes_htod\":%zu,\"bytes_dtoh\":%zu,\"bytes_before_ready\":%zu,\"wrong\":%zu,\"times\":[",
                rounds.size(), rounds.size() * (mib << 20), rounds.size() * (mib << 20), mib << 20, wrong);
    for (size_t i = 0; i < rounds.size(); i++)
        std::printf("%s[%lld,%lld,%lld]", i ? "," : "", rounds[i].at, rounds[i].gpu, rounds[i].cpu);
    std::printf("]}\n");
    CHECK(cudaFree(data));
    return wrong ? 1 : 0;
}
