// A program for `umtop watch`: two GPUs change one managed array in turns. At its end it prints what must have moved.
//
//     nvcc -O1 watch_two_gpus.cu -o watch_two_gpus && ./watch_two_gpus ROUNDS MIB
#include <cstdio>
#include <cstdlib>

__global__ void touch(unsigned* data, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) data[i] += 1;
}

int main(int argc, char** argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 4;
    size_t bytes = size_t(argc > 2 ? atoi(argv[2]) : 64) << 20, n = bytes / sizeof(unsigned);
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) return puts("needs two GPUs"), 1;
    unsigned* data;
    if (cudaMallocManaged(&data, bytes) != cudaSuccess) return 1;
    size_t wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < n; ++i) data[i] = round;
        for (int turn = 0; turn < 4; ++turn) {
            cudaSetDevice(turn % 2);
            touch<<<1056, 256>>>(data, n);
            if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        }
        for (size_t i = 0; i < n; ++i) wrong += data[i] != unsigned(round) + 4;
    }
    // A round: to the first GPU, there and back and there between the two, home from the second.
    printf("{\"moved_htod\": %zu, \"moved_dtoh\": %zu, \"moved_first_to_second\": %zu, \"moved_second_to_first\": %zu, \"wrong\": %zu}\n",
           bytes * rounds, bytes * rounds, 2 * bytes * rounds, bytes * rounds, wrong);
    cudaFree(data);
}
