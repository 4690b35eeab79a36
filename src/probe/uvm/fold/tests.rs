use super::*;
use crate::event::{AccessType, Cause, LastMove, Proc, RemoteCause};
use crate::units::{BLOCK, PAGE};
use proptest::prelude::*;

const GPU: Proc = Proc::Gpu(0);

fn gpu_fault(address: u64, batch: u32, gpu_time: u64) -> Record {
    Record::GpuFault { access: AccessType::Read, gpu: GPU, gpc: 0, address, time: 0, gpu_time, batch }
}

fn replay(batch: u32, gpu_time: u64) -> Record {
    Record::Replay { gpu: GPU, batch, time: 0, gpu_time }
}

fn migration(dst: Proc, address: u64, bytes: u64) -> Record {
    let src = if dst == GPU { Proc::Cpu } else { GPU };
    Record::Migration { cause: Cause::Fault, src, dst, address, bytes, time: 0, gpu_begin: 0, gpu_end: 0 }
}

#[test]
fn a_quiet_window_is_none() {
    let mut fold = TickFold::default();
    assert_eq!(fold.take(), None);
    fold.add(&Record::CpuFault { access: AccessType::Write, address: 0, time: 0, pid: 1, tid: 1, pc: 0 });
    assert!(fold.take().is_some());
    assert_eq!(fold.take(), None);
}

#[test]
fn a_foreign_replay_is_nothing() {
    let mut fold = TickFold::default();
    fold.add(&replay(3, 10));
    assert_eq!(fold.take(), None);
}

#[test]
fn a_batch_may_begin_in_one_window_and_end_in_the_next() {
    let mut fold = TickFold::default();
    fold.add(&gpu_fault(0, 3, 1_000));
    fold.add(&gpu_fault(0, 3, 1_100));
    let first = fold.take().unwrap();
    assert_eq!((first.batches, first.batch_faults.len()), (1, 0));
    fold.add(&replay(3, 41_000));
    let second = fold.take().unwrap();
    assert_eq!(second.batches, 0);
    assert_eq!(second.batch_faults, [(2, 1)]);
    assert_eq!(second.batch_latency_ns, [(40_000, 1)]);
    assert_eq!(fold.totals().batches, 1);
}

#[test]
fn a_migration_across_blocks_is_spread_by_pages() {
    let mut fold = TickFold::default();
    fold.add(&migration(GPU, 5 * BLOCK - 8192, 8192 + 4096));
    fold.add(&migration(Proc::Cpu, 5 * BLOCK, 65536));
    let blocks = fold.take().unwrap().blocks;
    assert_eq!(
        blocks.iter().map(|b| (b.block, b.to_gpu_pages, b.to_cpu_pages)).collect::<Vec<_>>(),
        [(4, 2, 0), (5, 1, 16)]
    );
}

#[test]
fn blocks_say_where_they_went_last_once_another_gpu_is_there() {
    const OTHER: Proc = Proc::Gpu(1);
    let fault = |gpu, address| Record::GpuFault {
        access: AccessType::Write,
        gpu,
        gpc: 0,
        address,
        time: 0,
        gpu_time: 0,
        batch: 1,
    };
    let copy = |src, dst, pages: u64| Record::Migration {
        cause: Cause::Fault,
        src,
        dst,
        address: 0,
        bytes: pages * PAGE,
        time: 0,
        gpu_begin: 0,
        gpu_end: 0,
    };
    let mut fold = TickFold::default();
    fold.add(&fault(GPU, 0));
    fold.add(&copy(Proc::Cpu, GPU, 512));
    let one = fold.take().unwrap();
    assert_eq!((one.blocks[0].last, one.blocks[0].faulted_by), (None, 0));
    let text = serde_json::to_string(&one).unwrap();
    assert!(!text.contains("last") && !text.contains("faulted_by"), "as before there were two: {text}");

    for record in [fault(OTHER, 0), copy(GPU, OTHER, 512), copy(OTHER, GPU, 400), copy(GPU, OTHER, 100)] {
        fold.add(&record);
    }
    fold.add(&copy(Proc::Cpu, OTHER, 12));
    let two = fold.take().unwrap();
    let last = LastMove { src: None, dst: OTHER, pages: 112 };
    assert_eq!((two.blocks[0].last, two.blocks[0].faulted_by), (Some(last), 0b10));
    let read: UvmEvents = serde_json::from_str(&serde_json::to_string(&two).unwrap()).unwrap();
    assert_eq!(read, two);

    fold.add(&fault(GPU, 0));
    fold.add(&copy(OTHER, GPU, 512));
    let first_again = fold.take().unwrap().blocks[0];
    let last = LastMove { src: Some(OTHER), dst: GPU, pages: 512 };
    assert_eq!((first_again.last, first_again.faulted_by), (Some(last), 0b01), "the first is named, too");
}

#[test]
fn a_senseless_length_fills_no_memory() {
    let mut fold = TickFold::default();
    fold.add(&migration(GPU, 4096, u64::MAX));
    fold.add(&migration(GPU, u64::MAX, u64::MAX));
    let window = fold.take().unwrap();
    assert!(window.blocks.len() < 1000);
    assert_eq!(window.migrated[0].copies, 2);
}

#[test]
fn totals_tell_of_migrations_only_at_level_full() {
    let mut fold = TickFold::default();
    assert_eq!(fold.totals().migrated, None);
    fold.set_level(TraceLevel::Full);
    assert_eq!(fold.totals().migrated, Some(vec![]));
    fold.add(&migration(GPU, 0, 4096));
    fold.add(&migration(GPU, 0, 61440));
    let all = fold.totals().migrated.unwrap();
    assert_eq!((all.len(), all[0].bytes, all[0].copies), (1, 65536, 2));
}

#[test]
fn losses_are_kept_by_type_and_never_silent() {
    let mut fold = TickFold::default();
    fold.lost(3, 0);
    assert_eq!(fold.take(), None);
    fold.lost(3, 5);
    fold.lost(2, 1);
    fold.lost(3, 5);
    fold.malformed();
    let window = fold.take().unwrap();
    assert_eq!(window.lost, [(2, 1), (3, 10)]);
    assert_eq!(window.malformed, 1);
    assert_eq!(fold.totals().lost, 11);
}

fn record() -> impl Strategy<Value = Record> {
    let address = 0u64..16 * BLOCK;
    prop_oneof![
        (address.clone(), 0u32..40, 0u64..1_000_000).prop_map(|(a, b, t)| gpu_fault(a, b, t)),
        (0u32..40, 0u64..1_000_000).prop_map(|(b, t)| replay(b, t)),
        (any::<bool>(), address.clone(), 1u64..BLOCK).prop_map(|(up, a, n)| migration(
            if up { GPU } else { Proc::Cpu },
            a,
            n
        )),
        address.clone().prop_map(|address| Record::Thrashing { address, bytes: 4096, time: 0 }),
        address.clone().prop_map(|address| Record::ThrottleStart { processor: GPU, address, time: 0 }),
        address.prop_map(|address| Record::RemoteMap {
            src: GPU,
            dst: Proc::Cpu,
            cause: RemoteCause::Thrashing,
            address,
            bytes: 4096,
            time: 0
        }),
    ]
}

/// Everything of a window that must not depend on where windows were cut.
#[derive(Debug, Default, PartialEq)]
struct Summed {
    gpu_faults: u64,
    batches: u64,
    migrated: Vec<Migrated>,
    copies: u64,
    block_faults: u64,
    pages: u64,
    ended: u64,
    faults_of_ended: u64,
    latencies: std::collections::BTreeMap<u64, u64>,
    thrash: u64,
}

fn sum(records: &[Record], cut_every: usize) -> (Summed, EventTotals) {
    let mut fold = TickFold::default();
    fold.set_level(TraceLevel::Full);
    let mut all = Summed::default();
    for chunk in records.chunks(cut_every) {
        chunk.iter().for_each(|r| fold.add(r));
        let Some(w) = fold.take() else { continue };
        assert!(w.blocks.is_sorted_by(|a, b| a.block < b.block));
        assert!(w.batch_latency_ns.is_sorted_by(|a, b| a.0 < b.0));
        assert!(w.copy_bytes.is_sorted_by(|a, b| a.0 < b.0));
        all.gpu_faults += w.gpu_faults.iter().map(|f| f.1).sum::<u64>();
        all.batches += w.batches;
        w.migrated.iter().for_each(|m| add_migrated(&mut all.migrated, *m));
        all.copies += w.copy_bytes.iter().map(|c| c.1).sum::<u64>();
        all.block_faults += w.blocks.iter().map(|b| u64::from(b.gpu_faults)).sum::<u64>();
        all.pages += w.blocks.iter().map(|b| u64::from(b.to_gpu_pages + b.to_cpu_pages)).sum::<u64>();
        all.ended += w.batch_faults.iter().map(|b| b.1).sum::<u64>();
        all.faults_of_ended += w.batch_faults.iter().map(|b| b.0 * b.1).sum::<u64>();
        w.batch_latency_ns.iter().for_each(|(ns, n)| *all.latencies.entry(*ns).or_default() += n);
        all.thrash += w.thrashing + w.throttled + w.remote_maps.iter().map(|r| r.1).sum::<u64>();
    }
    all.migrated.sort_unstable_by_key(window::migration_order);
    (all, fold.totals())
}

proptest! {
    #[test]
    fn sums_do_not_depend_on_where_windows_are_cut(records in prop::collection::vec(record(), 0..400), cut in 1usize..50) {
        let (whole, totals) = sum(&records, usize::MAX);
        let (cut, cut_totals) = sum(&records, cut);
        prop_assert_eq!(&whole, &cut);
        prop_assert_eq!(&totals, &cut_totals);
        prop_assert_eq!(whole.gpu_faults, totals.gpu_faults_raw);
        prop_assert_eq!(whole.block_faults, totals.gpu_faults_raw);
        prop_assert_eq!(whole.batches, totals.batches);
        prop_assert!(whole.ended <= whole.batches);
        prop_assert!(whole.faults_of_ended <= whole.gpu_faults);
        prop_assert_eq!(whole.thrash, totals.thrashing + totals.throttled + totals.remote_maps);
        prop_assert_eq!(Some(whole.migrated), totals.migrated);
    }
}
