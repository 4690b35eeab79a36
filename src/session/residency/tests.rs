use super::super::tests::{at, fold, pass, settings, start};
use super::*;
use crate::event::{BlockActivity, Body, Cause, Counters, LastMove, Migrated, RunEvent, RunId, UvmEvents};
use crate::session::Session;
use crate::units::{Bytes, Nanos};

const BASE: u64 = 0x7f00_0000_0000;

fn allocated(mib: u64) -> (u64, Body) {
    let range = Range { address: BASE, bytes: Bytes::mib(mib), memory: MemoryKind::Managed, label: "b".into() };
    (0, Body::Allocated(range))
}

fn block(index: u64) -> BlockActivity {
    BlockActivity { block: BASE / BLOCK + index, ..BlockActivity::default() }
}

fn window(ms: u64, level: TraceLevel, blocks: Vec<BlockActivity>) -> (u64, Body) {
    tick(ms, level, UvmEvents { blocks, ..UvmEvents::default() })
}

fn tick(ms: u64, level: TraceLevel, events: UvmEvents) -> (u64, Body) {
    let moved: u64 = events.blocks.iter().map(|b| u64::from(b.to_gpu_pages) + u64::from(b.to_cpu_pages)).sum();
    let counters = Counters { bytes_htod: moved * PAGE, ..Counters::default() };
    let tick = UvmTick { window: Nanos::millis(10), level, counters: Some(counters), events: Some(Box::new(events)) };
    (ms, Body::Uvm(Box::new(tick)))
}

fn mapped(ms: u64, pages: &[u16]) -> (u64, Body) {
    (ms, Body::Mapped(Mapped { address: BASE, pages: pages.to_vec() }))
}

fn places(session: &Session) -> Vec<Place> {
    let map = &session.residency.maps[0];
    (0..map.blocks.len()).map(|i| map.place(i)).collect()
}

fn handed(ms: u64, from: Proc, to: Proc, blocks: Vec<BlockActivity>) -> (u64, Body) {
    let bytes = blocks.iter().map(|b| u64::from(b.to_gpu_pages.max(b.to_cpu_pages)) * PAGE).sum();
    let migrated = vec![Migrated { src: from, dst: to, cause: Cause::Fault, bytes, copies: 1 }];
    tick(ms, TraceLevel::Full, UvmEvents { blocks, migrated, ..UvmEvents::default() })
}

#[test]
fn a_page_that_goes_from_gpu_to_gpu_is_on_one_of_them_and_the_way_is_kept() {
    let (cpu, first, second) = (Proc::Cpu, Proc::Gpu(0), Proc::Gpu(1));
    let holders = |session: &Session| {
        let map = &session.residency.maps[0];
        (0..map.blocks.len()).map(|i| session.residency.holder(map, i)).collect::<Vec<_>>()
    };
    let mut events = vec![
        allocated(4),
        window(10, TraceLevel::Full, vec![written(0), written(1)]),
        handed(20, cpu, first, vec![to_gpu(0, 512), to_gpu(1, 100)]),
    ];
    assert_eq!(holders(&fold(events.clone())), [None, None], "pages have been on one GPU only");
    events.push(handed(30, first, second, vec![to_gpu(0, 200), to_gpu(1, 100)]));
    let session = fold(events.clone());
    assert_eq!(holders(&session), [Some(Holder::Several), Some(Holder::One(1))]);
    let blocks = &session.residency.maps[0].blocks;
    assert_eq!((blocks[0].gpu_pages(), blocks[1].gpu_pages()), (512, 100), "no more are on GPUs than were");
    let ways: Vec<_> = blocks[0].recent.iter().map(|lately| lately.way).collect();
    assert_eq!(ways.last(), Some(&Some((first, second))));
    events.push(tick(40, TraceLevel::Faults, UvmEvents::default()));
    assert_eq!(holders(&fold(events)), [Some(Holder::Untold); 2], "what is not traced may have gone anywhere");
}

#[test]
fn what_goes_to_and_fro_in_one_window_ends_where_it_went_last() {
    let (cpu, first, second) = (Proc::Cpu, Proc::Gpu(0), Proc::Gpu(1));
    let copy = |src, dst| Migrated { src, dst, cause: Cause::Fault, bytes: 512 * PAGE, copies: 1 };
    let last = |src, dst| Some(LastMove { src: Some(src), dst, pages: 512 });
    let blocks = vec![
        BlockActivity { last: last(first, second), faulted_by: 0b11, ..to_gpu(0, 1024) },
        BlockActivity { last: last(second, first), faulted_by: 0b01, ..to_gpu(1, 512) },
    ];
    let migrated = vec![copy(cpu, first), copy(first, second), copy(second, first)];
    let events = UvmEvents { blocks, migrated, ..UvmEvents::default() };
    let session = fold(vec![allocated(4), tick(20, TraceLevel::Full, events.clone())]);
    let residency = &session.residency;
    let map = &residency.maps[0];
    assert_eq!([0, 1].map(|i| residency.holder(map, i)), [Some(Holder::One(1)), Some(Holder::One(0))]);
    assert_eq!([0, 1].map(|i| map.blocks[i].gpu_pages()), [512, 512]);
    assert_eq!(map.blocks[0].copied.map(|(_, to)| to), Some(second));
    let ways = [0, 1].map(|i| map.blocks[i].recent.back().and_then(|lately| lately.way));
    assert_eq!(ways, [None, Some((second, first))], "the first block went two ways");
    let faulted = [0, 1].map(|i| residency.faulted_by(&map.blocks[i].totals));
    assert_eq!(faulted, [Some(vec![0, 1]), Some(vec![0])]);

    let old = UvmEvents {
        blocks: events.blocks.iter().map(|block| BlockActivity { last: None, faulted_by: 0, ..*block }).collect(),
        ..events
    };
    let session = fold(vec![allocated(4), tick(20, TraceLevel::Full, old)]);
    let map = &session.residency.maps[0];
    assert_eq!([0, 1].map(|i| session.residency.holder(map, i)), [Some(Holder::Untold); 2], "an older recording");
    assert_eq!(session.residency.faulted_by(&map.blocks[0].totals), None);
}

fn written(index: u64) -> BlockActivity {
    BlockActivity { cpu_faults: 6, ..block(index) }
}

fn to_gpu(index: u64, pages: u32) -> BlockActivity {
    BlockActivity { gpu_faults: 40, to_gpu_pages: pages, by_fault: pages, ..block(index) }
}

#[test]
fn migrations_move_blocks_and_nothing_else_puts_them_on_the_gpu() {
    let full = TraceLevel::Full;
    let session = fold(vec![
        allocated(8),
        window(10, full, vec![written(0), written(1), written(2)]),
        window(20, full, vec![to_gpu(0, 512), to_gpu(1, 200)]),
        window(30, full, vec![BlockActivity { gpu_faults: 9, ..block(3) }]),
    ]);
    // The fourth was touched first by the GPU: no migration tells where it came to be.
    assert_eq!(places(&session), [Place::Gpu, Place::Split, Place::Cpu, Place::Unknown]);
    assert_eq!(session.residency.maps[0].blocks[0].totals.by_cause[0], 512);
    assert_eq!(session.residency.hottest(1)[0].1, 0);
}

#[test]
fn there_and_back_within_one_window_is_the_sum_of_both() {
    let both = BlockActivity { to_gpu_pages: 512, to_cpu_pages: 512, ..block(0) };
    let mut events = vec![allocated(2), window(10, TraceLevel::Full, vec![written(0)])];
    events.push(window(20, TraceLevel::Full, vec![both]));
    assert_eq!(places(&fold(events.clone())), [Place::Cpu]);
    events.push(window(30, TraceLevel::Full, vec![to_gpu(0, 512)]));
    events.push(window(40, TraceLevel::Full, vec![both]));
    assert_eq!(places(&fold(events)), [Place::Gpu]);
}

#[test]
fn what_moves_unseen_is_unknown_until_something_tells() {
    let faults = TraceLevel::Faults;
    let mut events = vec![allocated(4), window(10, TraceLevel::Full, vec![written(0), to_gpu(1, 512)])];
    events.push(window(50, faults, vec![to_gpu(0, 512)]));
    assert_eq!(places(&fold(events.clone())), [Place::Unknown, Place::Unknown]);
    events.push(mapped(60, &[512, 0]));
    assert_eq!(places(&fold(events)), [Place::Cpu, Place::Unknown]);
}

#[test]
fn lost_events_take_the_claims_with_them() {
    let mut events = UvmEvents { blocks: vec![to_gpu(0, 16)], ..UvmEvents::default() };
    events.lost = vec![(2, 5)];
    let session =
        fold(vec![allocated(2), window(10, TraceLevel::Full, vec![written(0)]), tick(40, TraceLevel::Full, events)]);
    assert_eq!(places(&session), [Place::Unknown]);
}

#[test]
fn mapped_is_not_resident() {
    let session = fold(vec![allocated(4), mapped(10, &[0, 512])]);
    assert_eq!(places(&session), [Place::Untouched, Place::Cpu], "never mapped says nothing");
    let gone = fold(vec![allocated(4), mapped(10, &[512, 512]), mapped(20, &[0, 512])]);
    assert_eq!(places(&gone), [Place::Unknown, Place::Cpu], "unmapped is no proof of the GPU");
    let mut coherent = Session::default();
    coherent.residency.coherent(true);
    for (ms, body) in [allocated(2), mapped(10, &[512])] {
        coherent.apply(&crate::event::Event { at: at(ms), body });
    }
    assert_eq!(places(&coherent), [Place::Untouched], "where the CPU maps the GPU's memory, mapped says nothing");
}

#[test]
fn a_look_that_is_older_than_a_copy_changes_nothing() {
    let full = TraceLevel::Full;
    let session = fold(vec![
        allocated(2),
        window(10, full, vec![written(0)]),
        window(30, full, vec![to_gpu(0, 512)]),
        mapped(29, &[512]),
    ]);
    assert_eq!(places(&session), [Place::Gpu]);
}

#[test]
fn duplicates_live_on_both_sides_until_one_writes() {
    let read_mostly = Settings { advice: Advice::ReadMostly, ..settings() };
    let full = TraceLevel::Full;
    let copy = BlockActivity { duplicated: 512, ..to_gpu(0, 512) };
    let mut events = vec![
        (0, Body::Run(RunEvent::Started(start(1, read_mostly)))),
        allocated(2),
        window(10, full, vec![written(0)]),
        window(20, full, vec![copy]),
    ];
    assert_eq!(places(&fold(events.clone())), [Place::Both]);
    events.push(mapped(25, &[512]));
    assert_eq!(places(&fold(events.clone())), [Place::Both], "a duplicated page is mapped too");
    events.push(window(30, full, vec![BlockActivity { cpu_faults: 512, invalidated: 512, ..block(0) }]));
    assert_eq!(places(&fold(events)), [Place::Cpu]);
}

#[test]
fn copies_that_a_recording_does_not_place_make_a_block_unknown() {
    let read_mostly = Settings { advice: Advice::ReadMostly, ..settings() };
    let events = UvmEvents { read_duplicates: 32, blocks: vec![to_gpu(0, 512)], ..UvmEvents::default() };
    let session = fold(vec![
        (0, Body::Run(RunEvent::Started(start(1, read_mostly)))),
        allocated(2),
        window(10, TraceLevel::Full, vec![written(0)]),
        tick(20, TraceLevel::Full, events),
    ]);
    assert_eq!(places(&session), [Place::Unknown]);
}

#[test]
fn a_remote_map_holds_until_the_block_moves() {
    let full = TraceLevel::Full;
    let pinned = BlockActivity { thrash: 2, remote_maps: 1, ..block(0) };
    let mut events = vec![allocated(2), window(10, full, vec![written(0)]), window(20, full, vec![pinned])];
    assert_eq!(places(&fold(events.clone())), [Place::Remote]);
    events.push(window(30, full, vec![to_gpu(0, 512)]));
    assert_eq!(places(&fold(events)), [Place::Gpu]);
}

#[test]
fn a_pass_whose_traffic_is_known_says_where_everything_lies() {
    let counters = TraceLevel::Counters;
    let ended = |ms, settings: Settings| {
        vec![
            (1, Body::Run(RunEvent::Started(start(1, settings)))),
            allocated(256),
            (2, Body::Run(RunEvent::PassBegan { run: RunId(1), index: 0 })),
            window(40, counters, Vec::new()),
            (ms, Body::Run(RunEvent::PassEnded(Box::new(pass(1, 0, 40))))),
        ]
    };
    let plain = Settings { trace: counters, ..settings() };
    assert!(places(&fold(ended(50, plain.clone()))).iter().all(|place| *place == Place::Cpu));
    let advised = Settings { advice: Advice::PreferredGpu, ..plain };
    assert!(places(&fold(ended(50, advised))).iter().all(|place| *place == Place::Unknown));
}

#[test]
fn who_comes_late_does_not_call_memory_untouched() {
    let full = TraceLevel::Full;
    let began = |index| (5, Body::Run(RunEvent::PassBegan { run: RunId(1), index }));
    let run = || (1, Body::Run(RunEvent::Started(start(1, settings()))));
    assert_eq!(places(&fold(vec![allocated(4), run(), began(0)])), [Place::Untouched; 2]);
    assert_eq!(places(&fold(vec![allocated(4), run(), began(7)])), [Place::Unknown; 2]);
    let midway = fold(vec![allocated(4), run(), window(9, full, vec![to_gpu(0, 512)])]);
    assert_eq!(places(&midway), [Place::Gpu, Place::Unknown]);
    let mut residency = Residency::default();
    residency.allocated(
        &Range { address: BASE, bytes: Bytes::mib(2), memory: MemoryKind::Managed, label: String::new() },
        false,
    );
    assert_eq!(residency.maps[0].place(0), Place::Unknown, "another program's");
}

#[test]
fn odd_ranges_are_no_panic() {
    let mut residency = Residency::default();
    for (address, bytes) in [(u64::MAX - 5, 100), (7, 0), (BASE + 12_345, 17), (0, u64::MAX), (BASE + BLOCK - 1, 2)] {
        let range = Range { address, bytes: Bytes(bytes), memory: MemoryKind::Managed, label: String::new() };
        residency.allocated(&range, true);
    }
    let pages: Vec<Vec<u16>> =
        residency.maps.iter().map(|map| map.blocks.iter().map(|block| block.pages).collect()).collect();
    assert!(pages.contains(&vec![1, 1]), "{pages:?}");
    let wild = BlockActivity {
        to_gpu_pages: u32::MAX,
        to_cpu_pages: u32::MAX,
        duplicated: u32::MAX,
        invalidated: u32::MAX,
        gpu_faults: u32::MAX,
        ..block(0)
    };
    let mut session = fold(vec![allocated(2), window(10, TraceLevel::Full, vec![wild, wild])]);
    session.apply(&crate::event::Event { at: at(20), body: mapped(20, &[u16::MAX, 9, 9]).1 });
    assert_eq!(places(&session).len(), 1);
}
