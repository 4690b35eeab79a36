//! The probes against a real GPU: `cargo test --test gpu_probes -- --ignored --test-threads=1 --nocapture`.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use crossbeam_channel::{Receiver, unbounded};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;
use std::sync::Arc;
use umtop::clock::Clock;
use umtop::event::{Body, Cause, Event, Metric, Migrated, Proc, TraceLevel, UvmTick, UvmTotals};
use umtop::probe::nvml::{PcieSource, start_with};
use umtop::probe::{Emit, Tracer, uvm};
use umtop::units::{BLOCK, Nanos};

const BYTES: usize = 64 << 20;
const WORDS: u32 = (BYTES / 4) as u32;

/// Adds 1 to each of `n` words.
const BUMP: &str = "
.version 6.0
.target sm_60
.address_size 64
.visible .entry bump(.param .u64 data, .param .u32 n)
{
    .reg .pred %out;
    .reg .b32 %id, %block, %threads, %thread, %n, %word;
    .reg .b64 %at, %offset;
    ld.param.u64 %at, [data];
    ld.param.u32 %n, [n];
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %id, %block, %threads, %thread;
    setp.ge.u32 %out, %id, %n;
    @%out bra DONE;
    mul.wide.u32 %offset, %id, 4;
    add.u64 %at, %at, %offset;
    ld.global.u32 %word, [%at];
    add.u32 %word, %word, 1;
    st.global.u32 [%at], %word;
DONE:
    ret;
}
";

struct Managed {
    stream: Arc<CudaStream>,
    bump: CudaFunction,
    address: u64,
}

impl Managed {
    fn new() -> Self {
        let context = CudaContext::new(0).unwrap();
        let bump = context.load_module(Ptx::from_src(BUMP)).unwrap().load_function("bump").unwrap();
        let global = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
        let address = unsafe { result::malloc_managed(BYTES, global) }.unwrap();
        Self { stream: context.default_stream(), bump, address }
    }

    fn cpu_write(&self, value: u32) {
        for i in 0..WORDS as usize {
            unsafe { (self.address as *mut u32).add(i).write_volatile(value) };
        }
    }

    fn cpu_read(&self, value: u32) {
        for i in 0..WORDS as usize {
            assert_eq!(unsafe { (self.address as *const u32).add(i).read_volatile() }, value, "word {i}");
        }
    }

    fn gpu_bump(&self) {
        let mut launch = self.stream.launch_builder(&self.bump);
        launch.arg(&self.address).arg(&WORDS);
        unsafe { launch.launch(LaunchConfig::for_num_elems(WORDS)) }.unwrap();
        self.stream.synchronize().unwrap();
    }

    fn prefetch_to_gpu(&self) {
        let to = sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
        unsafe { result::mem_prefetch_async(self.address, BYTES, to, self.stream.cu_stream()) }.unwrap();
        self.stream.synchronize().unwrap();
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        unsafe { result::free_sync(self.address) }.unwrap();
    }
}

fn collector() -> (Emit, Receiver<Event>) {
    let (out, events) = unbounded();
    (Box::new(move |event| drop(out.send(event))), events)
}

fn ticks(events: &Receiver<Event>) -> Vec<(u64, UvmTick)> {
    let tick = |event: Event| match event.body {
        Body::Uvm(tick) => (event.at.0, *tick),
        other => panic!("{other:?}"),
    };
    events.try_iter().map(tick).collect()
}

/// CPU write, GPU sweep, CPU read; the totals after each.
fn pass(memory: &Managed, tracer: &mut impl Tracer) -> [UvmTotals; 3] {
    memory.cpu_write(41);
    let written = tracer.settle().unwrap();
    memory.gpu_bump();
    let swept = tracer.settle().unwrap();
    memory.cpu_read(42);
    let read = tracer.settle().unwrap();
    [written, swept, read]
}

fn bytes(migrated: &[Migrated], pick: impl Fn(&Migrated) -> bool) -> u64 {
    migrated.iter().filter(|m| pick(m)).map(|m| m.bytes).sum()
}

#[test]
#[ignore = "needs a GPU"]
fn every_level_accounts_for_every_byte() {
    for level in [TraceLevel::Counters, TraceLevel::Faults, TraceLevel::Full] {
        let memory = Managed::new();
        let (emit, events) = collector();
        let mut tracer = uvm::attach(Clock::start(), level, emit).unwrap();
        assert_eq!(tracer.level(), level);
        let [written, swept, read] = pass(&memory, &mut tracer);
        println!("{level}: {read:?}");
        assert_eq!(swept.counters.bytes_htod - written.counters.bytes_htod, BYTES as u64, "{level}");
        assert_eq!(swept.counters.bytes_dtoh, written.counters.bytes_dtoh, "{level}");
        assert_eq!(read.counters.bytes_dtoh - swept.counters.bytes_dtoh, BYTES as u64, "{level}");
        assert!(swept.counters.gpu_faults > 0 && written.counters.cpu_faults > 0, "{level}");
        assert_eq!(read.events.is_some(), level >= TraceLevel::Faults);
        if let Some(all) = &read.events {
            assert!(all.gpu_faults_raw >= read.counters.gpu_faults && all.batches > 0);
            assert_eq!(all.lost, 0);
        }
        let migrated = read.events.as_ref().and_then(|e| e.migrated.clone());
        assert_eq!(migrated.is_some(), level == TraceLevel::Full);
        if let Some(migrated) = migrated {
            assert_eq!(bytes(&migrated, |m| m.src == Proc::Cpu), read.counters.bytes_htod);
            assert_eq!(bytes(&migrated, |m| m.dst == Proc::Cpu), read.counters.bytes_dtoh);
            assert!(bytes(&migrated, |m| m.cause == Cause::Fault) > 0);
        }
        drop(tracer);
        check_ticks(&ticks(&events), &memory, &read);
    }
}

fn check_ticks(ticks: &[(u64, UvmTick)], memory: &Managed, total: &UvmTotals) {
    assert!(ticks.windows(2).all(|pair| pair[0].0 + pair[1].1.window.0 == pair[1].0), "windows lie edge to edge");
    let htod: u64 = ticks.iter().filter_map(|(_, tick)| tick.counters).map(|c| c.bytes_htod).sum();
    assert_eq!(htod, total.counters.bytes_htod);
    let blocks = memory.address / BLOCK..=(memory.address + BYTES as u64 - 1) / BLOCK;
    for events in ticks.iter().filter_map(|(_, tick)| tick.events.as_ref()) {
        assert_eq!(events.malformed, 0);
        assert!(events.lost.is_empty());
        assert!(events.blocks.iter().all(|b| blocks.contains(&b.block)), "{:?}", events.blocks);
        assert!(events.batch_latency_ns.iter().all(|(ns, _)| (1_000..1_000_000_000).contains(ns)));
        assert!(events.copy_bytes.iter().all(|(n, _)| n.is_multiple_of(4096) && *n <= BLOCK));
    }
    let (counted, ended) = ticks
        .iter()
        .filter_map(|(_, t)| t.events.as_ref())
        .fold((0, 0), |(c, e), events| (c + events.batches, e + events.batch_faults.iter().map(|b| b.1).sum::<u64>()));
    assert_eq!(counted, ended, "every batch was seen to end");
}

#[test]
#[ignore = "needs a GPU"]
fn a_prefetch_is_the_users_and_levels_change_while_running() {
    let memory = Managed::new();
    let (emit, _events) = collector();
    let mut tracer = uvm::attach(Clock::start(), TraceLevel::Counters, emit).unwrap();
    memory.cpu_write(1);
    assert_eq!(tracer.set_level(TraceLevel::Full), (TraceLevel::Full, None));
    let before = tracer.settle().unwrap();
    memory.prefetch_to_gpu();
    let after = tracer.settle().unwrap();
    let by_user = |t: &UvmTotals| bytes(&t.events.clone().unwrap().migrated.unwrap(), |m| m.cause == Cause::User);
    assert_eq!(by_user(&after) - by_user(&before), BYTES as u64);
    assert_eq!(tracer.set_level(TraceLevel::Off), (TraceLevel::Off, None));
    assert_eq!(tracer.settle(), None);
    assert_eq!(tracer.set_level(TraceLevel::Faults), (TraceLevel::Faults, None));
    tracer.reattach().unwrap();
    assert_eq!(tracer.level(), TraceLevel::Faults);
    memory.cpu_read(1);
    let [written, swept, _] = pass(&memory, &mut tracer);
    assert_eq!(swept.counters.bytes_htod - written.counters.bytes_htod, BYTES as u64);
}

#[test]
#[ignore = "needs a GPU"]
fn every_pcie_source_agrees_with_the_payload() {
    const CHUNK: usize = 256 << 20;
    let context = CudaContext::new(0).unwrap();
    let host = unsafe { result::malloc_host(CHUNK, 0) }.unwrap();
    let device = unsafe { result::malloc_sync(CHUNK) }.unwrap();
    let source = unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), CHUNK) };
    source.fill(7);
    let mut failures = Vec::new();
    for kind in PcieSource::ALL {
        let clock = Clock::start();
        let (emit, events) = collector();
        let probe = start_with(None, (&uuid(&context), None), Some(kind), clock, emit).unwrap();
        println!("{:?} link {:?} driver {:?}", probe.info()[1], probe.link_max(), probe.driver_version());
        if let Err(why) = probe.pcie_source() {
            println!("{kind:?} does not work here: {why}");
            continue;
        }
        let begun = clock.now();
        let mut copied = 0u64;
        while clock.now().since(begun) < Nanos::millis(1_500) {
            unsafe { result::memcpy_htod_sync(device, source) }.unwrap();
            copied += CHUNK as u64;
        }
        let ended = clock.now();
        drop(probe);
        let payload = copied as f64 / ended.since(begun).seconds();
        let mut rates = Vec::new();
        for event in events.try_iter() {
            let Body::Sample(sample) = event.body else { continue };
            let Some(window) = sample.window else { continue };
            if event.at <= ended && event.at.since(begun) > window {
                let htod = sample.readings.iter().find(|(metric, _)| *metric == Metric::PcieHtoD);
                rates.extend(htod.and_then(|(_, reading)| reading.value()));
            }
        }
        rates.sort_by(f64::total_cmp);
        let median = rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN);
        let ratio = median / payload;
        println!("{kind:?}: {median:.3e} for {payload:.3e} B/s payload, ratio {ratio:.3}, {} windows", rates.len());
        if !(0.98..=1.15).contains(&ratio) {
            failures.push((kind, ratio));
        }
    }
    unsafe {
        result::free_sync(device).unwrap();
        result::free_host(host).unwrap();
    }
    assert!(failures.is_empty(), "{failures:?}");
}

fn uuid(context: &CudaContext) -> String {
    let hex: String = context.uuid().unwrap().bytes.iter().map(|b| format!("{:02x}", *b as u8)).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
