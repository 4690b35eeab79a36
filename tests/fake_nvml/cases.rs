//! The table: what the library answers, how umtop is run, what it must say and keep.

use crate::bed::Library::{self, Broken, Empty, Fake, Missing, Without};
use umtop::event::Metric::{
    self, GpuBusy, PcieDtoH, PcieGeneration, PcieHtoD, PcieWidth, Power, SmClock, VramTotal, VramUsed,
};

/// How umtop is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Run {
    /// `umtop doctor`.
    Doctor,
    /// `umtop bench --record`, with passes for at least so many ms.
    Bench(u32),
    /// The search for a watched program's GPU.
    Card,
}

/// A row.
pub struct Case {
    pub name: String,
    pub library: Library,
    pub script: String,
    pub run: Run,
    /// Each must be said.
    pub says: Vec<&'static str>,
    /// None may be said.
    pub never: Vec<&'static str>,
    pub code: i32,
    /// NVML's metrics of which there is no value; of all others there is one.
    pub lacks: Vec<Metric>,
}

/// What is read from NVML.
pub const ALL: [Metric; 9] =
    [PcieHtoD, PcieDtoH, VramUsed, VramTotal, GpuBusy, Power, SmClock, PcieGeneration, PcieWidth];

/// Time in which every metric has been read.
const SHORT: u32 = 600;
/// GPM does not work, so that the counters are read.
const COUNTERS: &str = "nvmlGpmQueryDeviceSupport * value 0\n";
/// Nor do they.
const WINDOW: &str = "nvmlGpmQueryDeviceSupport * value 0\nnvmlDeviceGetFieldValues * return 3\n";
/// CUDA and NVML have two GPUs.
pub const TWO: &str = "cuDeviceGetCount * value 2\nnvmlDeviceGetHandleByUUID * value 2\n";
const PCIE: [Metric; 2] = [PcieHtoD, PcieDtoH];
const VRAM: [Metric; 2] = [VramUsed, VramTotal];

fn case(name: &str, script: &str, run: Run) -> Case {
    Case {
        name: name.to_owned(),
        library: Fake,
        script: script.to_owned(),
        run,
        says: vec![],
        never: vec!["panicked"],
        code: if run == Run::Doctor { 1 } else { 0 },
        lacks: vec![],
    }
}

impl Case {
    fn library(self, library: Library) -> Self {
        Self { library, ..self }
    }

    fn says(mut self, text: &'static str) -> Self {
        self.says.push(text);
        self
    }

    fn never(mut self, text: &'static str) -> Self {
        self.never.push(text);
        self
    }

    fn lacks(mut self, metrics: &[Metric]) -> Self {
        self.lacks.extend(metrics);
        self
    }
}

/// Libraries that cannot be used at all: passes run all the same.
pub fn libraries() -> Vec<Case> {
    let bench = |name: &str, library| case(name, "", Run::Bench(SHORT)).library(library).lacks(&ALL);
    let doctor = |name: &str, library| case(name, "", Run::Doctor).library(library);
    let init = |code: u32| format!("nvmlInit_v2 * return {code}");
    let fails = |name: &str, code| case(name, &init(code), Run::Doctor);
    vec![
        case("a healthy GPU", "", Run::Bench(SHORT)),
        bench("no library", Missing).says("NVML (libnvidia-ml.so.1) is missing: install the NVIDIA driver"),
        doctor("no library, doctor", Missing).says("limited  nvml").says("not tried without NVML"),
        bench("a file that is no library", Broken).says("NVML (libnvidia-ml.so.1) is missing"),
        bench("a library with nothing in it", Empty).says("NVML is a stub or too old").says("stubs folder"),
        doctor("the same, doctor", Empty).says("limited  nvml").says("stub or too old"),
        fails("a stub that starts and has no library behind it (12)", 12).says("is missing").says("install the NVIDIA"),
        fails("a stub without the function (13)", 13).says("stub or too old"),
        fails("the kernel module is not loaded (9)", 9).says("kernel module is not loaded").says("modprobe nvidia"),
        fails("library and module of different versions (18)", 18).says("different versions").says("reboot, or reload"),
        case("the same while passes run (18)", &init(18), Run::Bench(SHORT)).says("different versions").lacks(&ALL),
        fails("no rights (4)", 4).says("may not open the GPU").says("/dev/nvidia*"),
        fails("the operating system refuses (17)", 17).says("may not open the GPU"),
        fails("the GPU is lost (15)", 15).says("lost or needs a reset").says("Xid"),
        fails("the GPU needs a reset (16)", 16).says("lost or needs a reset"),
        fails("an unknown error (999)", 999).says("'unknown error'").says("in a container restart it"),
        case("the same while passes run (999)", &init(999), Run::Bench(SHORT)).says("'unknown error'").lacks(&ALL),
        fails("a code that nobody knows (77)", 77).says("NVML cannot start").says("77"),
        fails("NVML never starts", 0).hangs("nvmlInit_v2").says("NVML does not answer"),
        case("the same before passes run", "nvmlInit_v2 * hang", Run::Bench(SHORT))
            .says("NVML does not answer")
            .lacks(&ALL),
    ]
}

impl Case {
    fn hangs(self, function: &str) -> Self {
        Self { script: format!("{function} * hang"), ..self }
    }
}

/// The functions that umtop calls, and what there is not without one.
const FUNCTIONS: [(&str, &[Metric], &str); 17] = [
    ("nvmlInit_v2", &ALL, "stub or too old"),
    ("nvmlShutdown", &ALL, "stub or too old"),
    ("nvmlDeviceGetHandleByUUID", &ALL, "stub or too old"),
    ("nvmlSystemGetDriverVersion", &[], ""),
    ("nvmlDeviceGetMemoryInfo_v2", &VRAM, "this GPU or driver gives no memory use"),
    ("nvmlDeviceGetUtilizationRates", &[GpuBusy], "this GPU or driver gives no utilisation"),
    ("nvmlDeviceGetPowerUsage", &[Power], "this GPU or driver gives no power"),
    ("nvmlDeviceGetClockInfo", &[SmClock], "this GPU or driver gives no SM clock"),
    ("nvmlDeviceGetCurrPcieLinkGeneration", &[PcieGeneration], "this GPU or driver gives no PCIe generation"),
    ("nvmlDeviceGetCurrPcieLinkWidth", &[PcieWidth], "this GPU or driver gives no PCIe width"),
    ("nvmlDeviceGetMaxPcieLinkGeneration", &[], ""),
    ("nvmlDeviceGetMigMode", &[], ""),
    ("nvmlGpmQueryDeviceSupport", &[], ""),
    ("nvmlGpmSampleAlloc", &[], ""),
    ("nvmlGpmSampleFree", &[], ""),
    ("nvmlGpmSampleGet", &[], ""),
    ("nvmlGpmMetricsGet", &[], ""),
];

/// Each function alone is missing, or gives nothing: only its own figures are absent.
pub fn functions() -> Vec<Case> {
    let mut cases = Vec::new();
    for (function, lacks, says) in FUNCTIONS {
        let base = |name: String| Case {
            says: if says.is_empty() { vec![] } else { vec![says] },
            lacks: lacks.to_vec(),
            ..case(&name, "", Run::Bench(SHORT))
        };
        cases.push(base(format!("without {function}")).library(Without(function)));
        if !lacks.is_empty() && lacks.len() < ALL.len() {
            let script = format!("{function} * return 3");
            cases.push(Case { script, ..base(format!("{function} is not supported (3)")) });
        }
    }
    let without = |function, script, says| {
        case(&format!("without {function}, and nothing before it works"), script, Run::Bench(SHORT))
            .library(Without(function))
            .says(says)
    };
    cases.push(without("nvmlDeviceGetFieldValues", COUNTERS, "").never("gives no PCIe"));
    let last = without("nvmlDeviceGetPcieThroughput", WINDOW, "this GPU or driver gives no PCIe throughput");
    cases.push(last.lacks(&PCIE));
    for function in ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3"] {
        cases.push(
            case(&format!("watch, without {function}"), "", Run::Card).library(Without(function)).says("card: Ok"),
        );
    }
    for function in ["nvmlDeviceGetCudaComputeCapability", "nvmlSystemGetCudaDriverVersion_v2"] {
        cases.push(
            case(&format!("watch, without {function}"), "", Run::Card).library(Without(function)).says("card: Ok"),
        );
    }
    for function in ["nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"] {
        let name = format!("watch, without {function}");
        cases.push(case(&name, "", Run::Card).library(Without(function)).says("stub or too old"));
    }
    cases
}

/// Answers that are wrong, late, or change.
pub fn answers() -> Vec<Case> {
    let bench = |name: &str, ms: u32, script: &str| case(name, script, Run::Bench(ms));
    let counters = |name: &str, ms: u32, script: &str| bench(name, ms, &format!("{COUNTERS}{script}"));
    vec![
        bench("memory may not be read (4)", SHORT, "nvmlDeviceGetMemoryInfo_v2 * return 4")
            .says("denied: memory use needs rights")
            .lacks(&VRAM),
        bench("memory fails with an unknown error (999)", SHORT, "nvmlDeviceGetMemoryInfo_v2 * return 999")
            .says("lost: memory use: ")
            .never("not supported: this GPU or driver gives no memory")
            .lacks(&VRAM),
        bench("power fails later (999)", 1_500, "nvmlDeviceGetPowerUsage 4- return 999").says("lost: power: "),
        bench("every value takes 75 ms", 1_500, "nvmlDeviceGetPowerUsage * delay 75").never("stalled"),
        bench("GPM does not work", SHORT, "nvmlGpmQueryDeviceSupport * value 0").never("gives no PCIe"),
        bench("neither GPM nor counters work", SHORT, WINDOW).never("gives no PCIe"),
        bench("the throughput call takes 75 ms", 1_000, &format!("{WINDOW}nvmlDeviceGetPcieThroughput * delay 75")),
        bench("GPM answers and never gives a number", 5_000, "nvmlGpmMetricsGet * value nan nan")
            .says("suspect: GPM gave no number for 500 ms")
            .says("nvml gpm gives no numbers: PCIe is read by nvml counters"),
        bench("GPM fails for each metric (999)", 5_000, "gpm * return 999")
            .says("nvml gpm gives no numbers: PCIe is read by nvml counters"),
        bench("GPM fails after it has begun (999)", 5_000, "nvmlGpmMetricsGet 4- return 999")
            .says("nvml gpm gives no numbers: PCIe is read by nvml counters"),
        bench("GPM gives one direction only", 5_000, "nvmlGpmMetricsGet * value 6000 nan")
            .says("nvml gpm gives no numbers: PCIe is read by nvml counters"),
        counters("32-bit counters wrap", 1_500, "rx * as u32\ntx * as u32\nrx * step 100000000\ntx * step 50000000"),
        counters(
            "32-bit counters are read too late",
            2_000,
            "rx * as u32\ntx * as u32\nnvmlDeviceGetFieldValues 30-40 delay 75",
        )
        .says("may have wrapped twice"),
        counters("64-bit counters are read late", 2_000, "nvmlDeviceGetFieldValues 30-40 delay 75")
            .never("may have wrapped"),
        counters(
            "32-bit counters always answer late",
            5_000,
            "rx * as u32\ntx * as u32\nnvmlDeviceGetFieldValues * delay 75",
        )
        .says("may have wrapped twice")
        .says("nvml counters gives no numbers: PCIe is read by nvml window"),
        counters("counters are reset", 1_500, "rx 1-40 value 8e12\nrx 41- value 0")
            .says("suspect: the counters jumped"),
        counters("a counter changes its width", 1_500, "rx 41- as u32").says("suspect: the counters jumped"),
        counters("one direction is not supported", SHORT, "tx * return 3").never("gives no PCIe"),
        bench(
            "a part without a link of its own",
            SHORT,
            &format!(
                "{WINDOW}nvmlDeviceGetPcieThroughput * return 3\nnvmlDeviceGetMemoryInfo_v2 * return 3\n\
                        nvmlDeviceGetCurrPcieLinkGeneration * value 0\nnvmlDeviceGetCurrPcieLinkWidth * value 0"
            ),
        )
        .says("this GPU or driver gives no memory use")
        .says("this GPU or driver gives no PCIe throughput")
        .lacks(&PCIE)
        .lacks(&VRAM)
        .lacks(&[PcieGeneration, PcieWidth]),
        bench(
            "a GPU that is divided (MIG)",
            SHORT,
            &format!(
                "{WINDOW}nvmlDeviceGetMigMode * value 1 1\nnvmlDeviceGetPcieThroughput * return 3\n\
                        nvmlDeviceGetUtilizationRates * return 3"
            ),
        )
        .says("MIG is on: memory, power and clock are those of the whole GPU")
        .says("MIG is on, and PCIe is known of whole GPUs only")
        .lacks(&PCIE)
        .lacks(&[GpuBusy]),
        bench(
            "CUDA_VISIBLE_DEVICES names a MIG slice",
            SHORT,
            "nvmlDeviceGetHandleByUUID * text MIG-00112233-4455-6677-8899-aabbccddeeff",
        )
        .says("MIG-00112233-4455-6677-8899-aabbccddeeff is a MIG slice")
        .lacks(&ALL),
        bench("NVML does not know CUDA's GPU", SHORT, "nvmlDeviceGetHandleByUUID * text GPU-of-another-container")
            .says("NVML does not know the GPU GPU-00112233")
            .lacks(&ALL),
        bench(
            "CUDA's first GPU is NVML's second",
            SHORT,
            "cuDeviceGetUuid * value 16\nnvmlDeviceGetHandleByUUID * value 2",
        ),
        bench("memory beyond 2^40 bytes", SHORT, "nvmlDeviceGetMemoryInfo_v2 * value 3298534883328 2199023255553"),
        bench("the GPU's name has odd bytes", SHORT, r"cuDeviceGetName * text Odd\x1b[31m\xffGPU")
            .says("Odd [31m")
            .never("\u{1b}"),
        case("the same, doctor", r"cuDeviceGetName * text Odd\x1b[31m\xffGPU", Run::Doctor)
            .says("Odd [31m")
            .never("\u{1b}"),
        case("watch, the GPU's name has odd bytes", r"nvmlDeviceGetName * text Odd\x1b\xffGPU", Run::Card)
            .says("GPU without a readable name"),
        case("watch, the GPU's name has control characters", r"nvmlDeviceGetName * text Odd\x1bGPU", Run::Card)
            .says("Odd GPU"),
        case("watch, two GPUs and none is known", "nvmlDeviceGetCount_v2 * value 2", Run::Card)
            .says("NVML shows 2 GPUs, so that it is not known which one to read"),
        case("watch, no GPU", "nvmlDeviceGetCount_v2 * value 0", Run::Card).says("NVML shows 0 GPUs"),
        case(
            "watch, the memory cannot be read (0 is shown as n/a)",
            "nvmlDeviceGetMemoryInfo_v2 * return 3",
            Run::Card,
        )
        .says("vram: Bytes(0)"),
        case("doctor, GPM answers and never gives a number", "nvmlGpmMetricsGet * value nan nan", Run::Doctor)
            .says("fields 197/198"),
        case("doctor, no PCIe source works", &format!("{WINDOW}nvmlDeviceGetPcieThroughput * return 3"), Run::Doctor)
            .says("limited  pcie")
            .says("no throughput"),
        case("doctor, only the window works", WINDOW, Run::Doctor).says("limited  pcie").says("20 ms a direction"),
        case("doctor, a call never returns", "nvmlGpmSampleGet * hang", Run::Doctor).says("NVML does not answer"),
    ]
}

/// Two GPUs: what carries copies between them, or why that is not known.
pub fn pairs() -> Vec<Case> {
    let two = |name: &str, script: &str, says| {
        case(&format!("two GPUs, {name}"), &format!("{TWO}{script}"), Run::Bench(SHORT)).says(says)
    };
    vec![
        case("one GPU", "", Run::Bench(SHORT))
            .says("between GPUs: no second GPU")
            .says("not supported: one GPU is used"),
        two("joined by NVLink", "", "between GPUs: NVLink"),
        two("not joined by it (3)", "nvmlDeviceGetP2PStatus * value 3", "between GPUs: PCIe")
            .says("not supported: NVLink does not join the two GPUs"),
        two("GPM does not know NVLink (3)", "gpm_nvlink * return 3", "this GPU or driver gives no NVLink throughput"),
        two(
            "GPM does not work",
            "nvmlGpmQueryDeviceSupport * value 0",
            "NVLink is read by GPM only (Hopper and later)",
        ),
        two("NVLink is switched off (4)", "nvmlDeviceGetP2PStatus * value 4", "between GPUs: PCIe"),
        two(
            "NVML does not know it (6)",
            "nvmlDeviceGetP2PStatus * value 6",
            "between GPUs: n/a: not supported: NVML does not know",
        ),
        two(
            "an answer that nobody knows (77)",
            "nvmlDeviceGetP2PStatus * value 77",
            "between GPUs: n/a: lost: link between GPUs",
        ),
        two(
            "the call is not supported (3)",
            "nvmlDeviceGetP2PStatus * return 3",
            "this GPU or driver gives no link between GPUs",
        ),
        two("the call may not be made (4)", "nvmlDeviceGetP2PStatus * return 4", "between GPUs: n/a: denied"),
        two(
            "the second is hidden from NVML",
            "nvmlDeviceGetHandleByUUID * value 1",
            "NVML does not know the GPU GPU-10112233",
        ),
        two("without nvmlDeviceGetP2PStatus", "", "this GPU or driver gives no link between GPUs")
            .library(Without("nvmlDeviceGetP2PStatus")),
        two("no library", "", "between GPUs: n/a: not supported: NVML does not work here").library(Missing).lacks(&ALL),
    ]
}
