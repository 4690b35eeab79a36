// An NVML that answers from a script (see script.h): what tests/nvml.rs puts in the place of the driver's library.
// Signatures, codes and structures as in nvml.h of NVML 13. `-DNAME=hidden` at compilation takes a function away.

#include "script.h"

#define NOT_SUPPORTED 3
#define NOT_FOUND 6

typedef struct device *device;

#define CALL(name)                               \
    struct call call;                            \
    int code = begin(#name, &call);              \
    if (code) return code

struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    int code;
    union {
        unsigned narrow;
        unsigned long long wide;
    } value;
};

struct gpm_metric {
    unsigned id;
    int code;
    double value;
    struct {
        const char *short_name, *long_name, *unit;
    } info;
};

struct gpm_request {
    unsigned version, count;
    void *first, *second;
    struct gpm_metric metrics[210];
};

// Handles: the number of the GPU plus one.
static device handle(unsigned index) { return (device)(unsigned long)(index + 1); }

static const char *const UUIDS[2] = {"GPU-00112233-4455-6677-8899-aabbccddeeff", "GPU-10112233-4455-6677-8899-aabbccddeeff"};

int nvmlInit_v2(void) {
    CALL(nvmlInit_v2);
    return 0;
}

int nvmlShutdown(void) {
    CALL(nvmlShutdown);
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned room) {
    CALL(nvmlSystemGetDriverVersion);
    text(call, "580.159.03", out, room);
    return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *out) {
    CALL(nvmlSystemGetCudaDriverVersion_v2);
    *out = (int)value(call, 0, 13000);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    CALL(nvmlDeviceGetCount_v2);
    *out = (unsigned)value(call, 0, 1);
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
    CALL(nvmlDeviceGetHandleByIndex_v2);
    *out = handle(index);
    return 0;
}

// Knows the first GPU, with `value 2` both, with `text UUID` only that one.
int nvmlDeviceGetHandleByUUID(const char *uuid, device *out) {
    CALL(nvmlDeviceGetHandleByUUID);
    unsigned count = (unsigned)value(call, 0, 1);
    char only[96];
    text(call, "", only, sizeof only);
    if (only[0]) {
        *out = handle(0);
        return strcmp(uuid, only) ? NOT_FOUND : 0;
    }
    for (unsigned i = 0; i < count && i < 2; i++)
        if (!strcmp(uuid, UUIDS[i])) {
            *out = handle(i);
            return 0;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetName(device gpu, char *out, unsigned room) {
    CALL(nvmlDeviceGetName);
    text(call, "Fake GPU", out, room);
    return 0;
}

int nvmlDeviceGetUUID(device gpu, char *out, unsigned room) {
    CALL(nvmlDeviceGetUUID);
    text(call, UUIDS[gpu == handle(1)], out, room);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(device gpu, struct pci *out) {
    CALL(nvmlDeviceGetPciInfo_v3);
    memset(out, 0, sizeof *out);
    text(call, "00000000:65:00.0", out->bus_id, sizeof out->bus_id);
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(device gpu, int *major, int *minor) {
    CALL(nvmlDeviceGetCudaComputeCapability);
    *major = (int)value(call, 0, 9);
    *minor = (int)value(call, 1, 0);
    return 0;
}

// `value CURRENT PENDING`.
int nvmlDeviceGetMigMode(device gpu, unsigned *current, unsigned *pending) {
    CALL(nvmlDeviceGetMigMode);
    *current = (unsigned)value(call, 0, 0);
    *pending = (unsigned)value(call, 1, 0);
    return 0;
}

// `value STATUS`; 2 is the index that asks for NVLink.
int nvmlDeviceGetP2PStatus(device gpu, device other, unsigned index, unsigned *out) {
    CALL(nvmlDeviceGetP2PStatus);
    *out = index == 2 && gpu != other ? (unsigned)value(call, 0, 0) : 6;
    return 0;
}

// `value TOTAL USED`; the second GPU is told from the first by its figures.
int nvmlDeviceGetMemoryInfo_v2(device gpu, struct memory *out) {
    CALL(nvmlDeviceGetMemoryInfo_v2);
    if (gpu == handle(1)) {
        out->total = 24ull << 30;
        out->used = 2ull << 30;
    } else {
        out->total = (unsigned long long)value(call, 0, 150754820096.0);
        out->used = (unsigned long long)value(call, 1, 629145600.0);
    }
    out->free = out->total - out->used;
    out->reserved = 0;
    return 0;
}

int nvmlDeviceGetUtilizationRates(device gpu, unsigned *out) {
    CALL(nvmlDeviceGetUtilizationRates);
    out[0] = (unsigned)value(call, 0, 37);
    out[1] = (unsigned)value(call, 1, 5);
    return 0;
}

#define NUMBER(name, usual)                      \
    int name(device gpu, unsigned *out) {        \
        CALL(name);                              \
        *out = (unsigned)value(call, 0, usual);  \
        return 0;                                \
    }

NUMBER(nvmlDeviceGetPowerUsage, 123456)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)

int nvmlDeviceGetClockInfo(device gpu, unsigned clock, unsigned *out) {
    CALL(nvmlDeviceGetClockInfo);
    *out = (unsigned)value(call, 0, 1980);
    return 0;
}

// KB/s; `value RX TX`.
int nvmlDeviceGetPcieThroughput(device gpu, unsigned direction, unsigned *out) {
    CALL(nvmlDeviceGetPcieThroughput);
    *out = direction ? (unsigned)value(call, 0, 3000000) : (unsigned)value(call, 1, 1000000);
    return 0;
}

// A byte counter. It has begun at `value` and grows by `step` with each call.
static void count(const char *name, struct field *field) {
    struct call call;
    field->code = begin(name, &call);
    const struct line *step = said(call, "step"), *width = said(call, "as");
    double by = step ? atof(step->word[0]) : 1000000;
    unsigned long long now = (unsigned long long)(value(call, 0, 5e9) + by * (double)call.number);
    int narrow = width && !strcmp(width->word[0], "u32");
    field->type = narrow ? 1 : 3;
    field->value.wide = 0;
    if (narrow)
        field->value.narrow = (unsigned)now;
    else
        field->value.wide = now;
}

int nvmlDeviceGetFieldValues(device gpu, int fields, struct field *out) {
    CALL(nvmlDeviceGetFieldValues);
    for (int i = 0; i < fields; i++) {
        if (out[i].id == 198)
            count("rx", &out[i]);
        else if (out[i].id == 197)
            count("tx", &out[i]);
        else
            out[i].code = NOT_SUPPORTED;
    }
    return 0;
}

int nvmlGpmQueryDeviceSupport(device gpu, unsigned *support) {
    CALL(nvmlGpmQueryDeviceSupport);
    support[1] = (unsigned)value(call, 0, 1);
    return 0;
}

int nvmlGpmSampleAlloc(void **out) {
    CALL(nvmlGpmSampleAlloc);
    *out = malloc(16);
    return 0;
}

int nvmlGpmSampleFree(void *sample) {
    CALL(nvmlGpmSampleFree);
    free(sample);
    return 0;
}

int nvmlGpmSampleGet(device gpu, void *sample) {
    CALL(nvmlGpmSampleGet);
    return 0;
}

// MB/s; `value RX TX`. `gpm` stands for a single metric of the answer, which has a code of its own, `gpm_nvlink` for one of NVLink.
int nvmlGpmMetricsGet(struct gpm_request *request) {
    CALL(nvmlGpmMetricsGet);
    for (unsigned i = 0; i < request->count; i++) {
        struct gpm_metric *metric = &request->metrics[i];
        struct call each;
        int nvlink = metric->id == 60 || metric->id == 61;
        metric->code = begin(nvlink ? "gpm_nvlink" : "gpm", &each);
        if (nvlink)
            metric->value = metric->id == 60 ? value(each, 0, 90000) : value(each, 1, 40000);
        else
            metric->value = metric->id == 21 ? value(call, 0, 6000) : value(call, 1, 2000);
        metric->info.short_name = metric->info.long_name = "PCIe";
        metric->info.unit = "MB/s";
    }
    return 0;
}
