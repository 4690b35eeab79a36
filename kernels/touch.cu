// Kernels that touch an array of 32-bit elements: one for each pattern, all with the same parameters; then one that computes
// more, and the sum of two arrays.
//
//   data      the buffer's first element; `first` and element values count from here
//   first     first element of the range
//   elements  length of the range; for touch_random also the domain of the permutation
//   count     accesses to make, at most `elements`
//   shape     touch_strided: the stride in elements, which divides `elements`; touch_random: the seed (low 32 bits)
//   mul, add  write: element i becomes mul * i + add; read-write: x becomes x * mul + add
//   access    0 read, 1 write, 2 read-write
//   sum       read: the sum of all values read is added here, modulo 2^32
//
// Every kernel works with any grid. The PTX beside this file is made from it by build.py.

typedef unsigned int u32;
typedef unsigned long long u64;

enum Access { READ = 0, WRITE = 1, READ_WRITE = 2 };

struct Step {
    u32 mul, add;
};

template <int ACCESS>
__device__ __forceinline__ void touch(u32* data, u64 i, Step step, u32& sum) {
    if (ACCESS == READ) sum += data[i];
    if (ACCESS == WRITE) data[i] = step.mul * (u32)i + step.add;
    if (ACCESS == READ_WRITE) data[i] = data[i] * step.mul + step.add;
}

// Four elements at once; `i` is a multiple of four.
template <int ACCESS>
__device__ __forceinline__ void touch_four(u32* data, u64 i, Step step, u32& sum) {
    uint4* at = (uint4*)(data + i);
    if (ACCESS == WRITE) {
        u32 x = step.mul * (u32)i + step.add;
        *at = make_uint4(x, x + step.mul, x + 2 * step.mul, x + 3 * step.mul);
        return;
    }
    uint4 v = *at;
    if (ACCESS == READ) {
        sum += v.x + v.y + v.z + v.w;
        return;
    }
    *at = make_uint4(v.x * step.mul + step.add, v.y * step.mul + step.add, v.z * step.mul + step.add,
                     v.w * step.mul + step.add);
}

__device__ __forceinline__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ u64 threads() { return (u64)gridDim.x * blockDim.x; }

// Called by whole warps: one atomic for each.
__device__ __forceinline__ void deliver(u32 part, u32* sum) {
    for (int distance = 16; distance > 0; distance /= 2) part += __shfl_down_sync(0xffffffffu, part, distance);
    if (threadIdx.x % 32 == 0 && part != 0) atomicAdd(sum, part);
}

// The same function as device::permute in src/device/touch.rs.
__device__ __forceinline__ u64 permute(u64 i, u64 n, u32 seed) {
    int bits = 64 - __clzll((long long)(n - 1));
    u64 mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    int shift = bits / 2 > 1 ? bits / 2 : 1;
    u64 x = i;
    do {
        x = (x + seed) & mask;
        x = (x * 0x9E3779B97F4A7C15ull) & mask;
        x ^= x >> shift;
        x = (x * 0xD6E8FEB86659FD93ull) & mask;
        x ^= x >> shift;
    } while (x >= n);
    return x;
}

struct Sequential {
    template <int ACCESS>
    static __device__ u32 run(u32* data, u64 first, u64, u64 count, u64, Step step) {
        u32 sum = 0;
        u64 end = first + count;
        u64 body = min((first + 3) / 4 * 4, end);
        u64 tail = max(body, end / 4 * 4);
        for (u64 i = first + thread(); i < body; i += threads()) touch<ACCESS>(data, i, step, sum);
        for (u64 i = body + 4 * thread(); i < tail; i += 4 * threads()) touch_four<ACCESS>(data, i, step, sum);
        for (u64 i = tail + thread(); i < end; i += threads()) touch<ACCESS>(data, i, step, sum);
        return sum;
    }
};

struct Strided {
    // Visit k falls on row k % rows of the lane k / rows; one division a thread, then both advance by additions.
    template <int ACCESS>
    static __device__ u32 run(u32* data, u64 first, u64 elements, u64 count, u64 stride, Step step) {
        u32 sum = 0;
        u64 rows = elements / stride;
        u64 row = thread() % rows, lane = thread() / rows;
        u64 row_step = threads() % rows, lane_step = threads() / rows;
        for (u64 k = thread(); k < count; k += threads()) {
            touch<ACCESS>(data, first + row * stride + lane, step, sum);
            row += row_step;
            lane += lane_step;
            if (row >= rows) {
                row -= rows;
                lane += 1;
            }
        }
        return sum;
    }
};

struct Random {
    template <int ACCESS>
    static __device__ u32 run(u32* data, u64 first, u64 elements, u64 count, u64 seed, Step step) {
        u32 sum = 0;
        for (u64 k = thread(); k < count; k += threads())
            touch<ACCESS>(data, first + permute(k, elements, (u32)seed), step, sum);
        return sum;
    }
};

struct OneWarp {
    template <int ACCESS>
    static __device__ u32 run(u32* data, u64 first, u64, u64 count, u64, Step step) {
        u32 sum = 0;
        if (blockIdx.x == 0 && threadIdx.x < 32)
            for (u64 k = threadIdx.x; k < count; k += 32) touch<ACCESS>(data, first + k, step, sum);
        return sum;
    }
};

struct Block {
    // Each thread block has a chunk of its own; its threads go through it side by side.
    template <int ACCESS>
    static __device__ u32 run(u32* data, u64 first, u64, u64 count, u64, Step step) {
        u32 sum = 0;
        u64 chunk = (count + gridDim.x - 1) / gridDim.x;
        u64 begin = blockIdx.x * chunk;
        u64 end = min(begin + chunk, count);
        for (u64 k = begin + threadIdx.x; k < end; k += blockDim.x) touch<ACCESS>(data, first + k, step, sum);
        return sum;
    }
};

template <class Pattern>
__device__ __forceinline__ void run(u32* data, u64 first, u64 elements, u64 count, u64 shape, Step step, u32 access,
                                    u32* sum) {
    if (access == READ) deliver(Pattern::template run<READ>(data, first, elements, count, shape, step), sum);
    if (access == WRITE) Pattern::template run<WRITE>(data, first, elements, count, shape, step);
    if (access == READ_WRITE) Pattern::template run<READ_WRITE>(data, first, elements, count, shape, step);
}

#define ENTRY(name, Pattern)                                                                                    \
    extern "C" __global__ void __launch_bounds__(256)                                                           \
        name(u32* data, u64 first, u64 elements, u64 count, u64 shape, u32 mul, u32 add, u32 access, u32* sum) { \
        run<Pattern>(data, first, elements, count, shape, Step{mul, add}, access, sum);                         \
    }

ENTRY(touch_sequential, Sequential)
ENTRY(touch_strided, Strided)
ENTRY(touch_random, Random)
ENTRY(touch_one_warp, OneWarp)
ENTRY(touch_block, Block)

// Read-write in order, `work` times in a row on each element, so that a kernel can take as long as a copy. It is a kernel of
// its own because the loop keeps the compiler from reading ahead, on which a plain read-write over the link depends.
extern "C" __global__ void __launch_bounds__(256)
    work(u32* data, u64 first, u64 count, u32 mul, u32 add, u32 work) {
    u64 end = first + count;
    u64 body = min((first + 3) / 4 * 4, end);
    u64 tail = max(body, end / 4 * 4);
    auto one = [=](u64 i) {
        u32 x = data[i];
        for (u32 n = 0; n < work; ++n) x = x * mul + add;
        data[i] = x;
    };
    for (u64 i = first + thread(); i < body; i += threads()) one(i);
    for (u64 i = body + 4 * thread(); i < tail; i += 4 * threads()) {
        uint4* at = (uint4*)(data + i);
        uint4 v = *at;
        for (u32 n = 0; n < work; ++n)
            v = make_uint4(v.x * mul + add, v.y * mul + add, v.z * mul + add, v.w * mul + add);
        *at = v;
    }
    for (u64 i = tail + thread(); i < end; i += threads()) one(i);
}

// c = a + b, element by element: the first program of every course. All three begin on a multiple of 16 bytes.
extern "C" __global__ void __launch_bounds__(256) add(u32* c, const u32* a, const u32* b, u64 first, u64 count) {
    u64 end = first + count;
    u64 body = min((first + 3) / 4 * 4, end);
    u64 tail = max(body, end / 4 * 4);
    for (u64 i = first + thread(); i < body; i += threads()) c[i] = a[i] + b[i];
    for (u64 i = body + 4 * thread(); i < tail; i += 4 * threads()) {
        uint4 x = *(const uint4*)(a + i), y = *(const uint4*)(b + i);
        *(uint4*)(c + i) = make_uint4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    for (u64 i = tail + thread(); i < end; i += threads()) c[i] = a[i] + b[i];
}
