// The same sweep as seen by CUPTI: the program counts the unified-memory activity records of its own sweeps and prints
// what they account for beside what it moved, and how long each sweep of the GPU took. Run it under `umtop watch --` and umtop
// counts the same sweeps. With `off` as the third argument CUPTI is left alone, which is what overhead.sh compares with.
//
//     nvcc -O1 um_cupti.cu -I$CUPTI/include -L$CUPTI/lib64 -lcupti -lcuda -o um_cupti && ./um_cupti SWEEPS MIB [off]
#include <cupti.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint64_t bytes_htod, bytes_dtoh, records, gpu_faults, cpu_faults, dropped_records;

static void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* max_records) {
    *size = 8 << 20;
    *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
    *max_records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) continue;
        // The fields used here are the same in every version of this record.
        auto* um = reinterpret_cast<CUpti_ActivityUnifiedMemoryCounter2*>(record);
        ++records;
        if (um->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD) bytes_htod += um->value;
        if (um->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH) bytes_dtoh += um->value;
        if (um->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT) gpu_faults += um->value;
        if (um->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT) cpu_faults += um->value;
    }
    size_t lost = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped_records += lost;
    free(buffer);
}

__global__ void touch(float* data, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) data[i] += 1;
}

int main(int argc, char** argv) {
    int sweeps = argc > 1 ? atoi(argv[1]) : 5;
    size_t bytes = size_t(argc > 2 ? atoi(argv[2]) : 256) << 20;
    bool cupti = argc <= 3 || strcmp(argv[3], "off") != 0;
    if (cupti) cuptiActivityRegisterCallbacks(request, complete);
    CUpti_ActivityUnifiedMemoryCounterConfig config[4] = {};
    CUpti_ActivityUnifiedMemoryCounterKind kinds[4] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT};
    for (int i = 0; i < 4; ++i) {
        config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
        config[i].kind = kinds[i];
        config[i].deviceId = 0;
        config[i].enable = 1;
    }
    cudaFree(nullptr);
    CUptiResult configured = cupti ? cuptiActivityConfigureUnifiedMemoryCounter(config, 4) : CUPTI_SUCCESS;
    CUptiResult enabled = cupti ? cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) : CUPTI_SUCCESS;
    if (configured != CUPTI_SUCCESS || enabled != CUPTI_SUCCESS) {
        fprintf(stderr, "CUPTI: configure %d, enable %d\n", configured, enabled);
        return 1;
    }
    float* data;
    if (cudaMallocManaged(&data, bytes) != cudaSuccess) return 1;
    size_t n = bytes / sizeof(float);
    std::vector<long long> times;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (size_t i = 0; i < n; ++i) data[i] = float(sweep);
        auto begin = std::chrono::steady_clock::now();
        touch<<<1056, 256>>>(data, n);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        auto took = std::chrono::steady_clock::now() - begin;
        times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
    }
    double sum = 0;
    for (size_t i = 0; i < n; i += 1024) sum += data[i];
    if (cupti) cuptiActivityFlushAll(1);
    printf("{\"sweep_ns\": [");
    for (size_t i = 0; i < times.size(); ++i) printf("%s%lld", i ? ", " : "", times[i]);
    printf("], \"moved_htod\": %zu, \"moved_dtoh\": %zu, \"cupti_htod\": %llu, \"cupti_dtoh\": %llu, \"cupti_gpu_fault_records\": %llu, "
           "\"cupti_cpu_faults\": %llu, \"cupti_records\": %llu, \"cupti_dropped\": %llu, \"sum\": %.0f}\n",
           bytes * sweeps, bytes * sweeps, (unsigned long long)bytes_htod, (unsigned long long)bytes_dtoh,
           (unsigned long long)gpu_faults, (unsigned long long)cpu_faults, (unsigned long long)records,
           (unsigned long long)dropped_records, sum);
    cudaFree(data);
}
