use super::*;
use crate::probe::uvm::abi::ENTRY_BYTES;
use crate::probe::uvm::ring::Ring;

#[test]
fn without_a_context_it_cannot_attach_and_says_why() {
    // No test here makes a CUDA context, so that this holds on a machine with a GPU too.
    let error = attach(Clock::start(), TraceLevel::Full, Box::new(|_| {})).err();
    let expected =
        matches!(error, Some(UvmError::NodeMissing | UvmError::NodeDenied | UvmError::Wsl | UvmError::NotInitialised));
    assert!(expected, "{error:?}");
}

#[test]
fn a_level_that_cannot_be_had_falls_back_with_the_reason_and_a_notice() {
    let (out, events) = unbounded();
    let emit = Box::new(move |event| drop(out.send(event)));
    let mut tracer = start(Reader::detached(), Clock::start(), emit).unwrap();
    let (level, why) = tracer.set_level(TraceLevel::Full);
    assert_eq!((level, tracer.level()), (TraceLevel::Off, TraceLevel::Off));
    assert!(matches!(why, Some(Why::NotSupported(_))), "{why:?}");
    assert_eq!(tracer.settle(), None);
    drop(tracer);
    let bodies: Vec<_> = events.try_iter().map(|event: Event| event.body).collect();
    let [Body::Notice(notice)] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert!(notice.text.contains("off instead of full"), "{}", notice.text);
}

#[test]
fn a_driver_that_makes_no_sense_is_told_of_once_and_the_handle_learns_of_the_lower_level() {
    let (out, events) = unbounded();
    let ring = Ring::new(8).unwrap();
    let driver = ring.producer();
    (0..200).for_each(|_| assert!(driver.put(&[0xEE; ENTRY_BYTES])));
    let mut tracer = start(Reader::over(ring), Clock::start(), Box::new(move |event| drop(out.send(event)))).unwrap();
    assert_eq!(tracer.level(), TraceLevel::Full);
    for _ in 0..3 {
        tracer.settle();
    }
    assert_eq!(tracer.level(), TraceLevel::Off, "there are no counters to fall back to");
    drop(tracer);
    let bodies: Vec<_> = events.try_iter().map(|event: Event| event.body).collect();
    let told = bodies.iter().filter(|body| matches!(body, Body::Notice(n) if n.level == Level::Error)).count();
    assert_eq!(told, 1, "{bodies:?}");
}

#[test]
fn while_no_address_space_is_watched_any_level_is_in_force_and_nothing_is_told() {
    let (out, events) = unbounded();
    let emit = Box::new(move |event| drop(out.send(event)));
    let mut tracer = await_spaces(Clock::start(), TraceLevel::Full, emit).unwrap();
    assert_eq!(tracer.level(), TraceLevel::Full);
    assert_eq!(tracer.set_level(TraceLevel::Counters), (TraceLevel::Counters, None));
    // Whatever the machine has: that is no address space.
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(matches!(tracer.add(file.into(), 1), Err(NotAdded::Failed(_))));
    tracer.remove(SpaceId(1));
    assert_eq!(tracer.settle().map(|totals| totals.counters), Some(Default::default()));
    drop(tracer);
    assert_eq!(events.try_iter().count(), 0);
}

#[test]
fn what_comes_after_a_rest_is_told_too() {
    let (out, events) = unbounded();
    let ring = Ring::new(8).unwrap();
    let driver = ring.producer();
    let tracer =
        start(Reader::over(ring), Clock::start(), Box::new(move |event: Event| drop(out.send(event)))).unwrap();
    let told = || match events.recv_timeout(Duration::from_secs(10)).unwrap().body {
        Body::Uvm(tick) => tick,
        other => panic!("{other:?}"),
    };
    let mut quiet = Nanos(0);
    while quiet < Nanos(2 * RESTS_AFTER.0) {
        let tick = told();
        assert!(tick.quiet());
        quiet = Nanos(quiet.0 + tick.window.0);
    }
    let mut fault = [0; ENTRY_BYTES];
    fault[0] = crate::probe::uvm::abi::event::GPU_FAULT;
    assert!(driver.put(&fault));
    let heard = std::iter::repeat_with(told).take(50).find(|tick| !tick.quiet());
    assert!(heard.is_some());
    drop(tracer);
}

#[test]
fn others_replays_do_not_end_a_rest_and_a_fault_of_ours_does() {
    let ring = Ring::new(8).unwrap();
    let driver = ring.producer();
    let clock = Clock::start();
    let windows = Windows::new(clock.now());
    let emit: Emit = Box::new(|_| {});
    let mut watch = Watch {
        reader: Reader::over(ring),
        windows,
        clock,
        emit,
        flush_failed: true,
        heard: clock.now(),
        flushed: clock.now(),
    };
    let mut rests_after = |kind: Option<u8>| {
        let mut entry = [0; ENTRY_BYTES];
        if let Some(kind) = kind {
            entry[..4].copy_from_slice(&[kind, 1, 1, 1]);
            assert!(driver.put(&entry));
        }
        watch.tick();
        watch.rests()
    };
    assert!(!rests_after(None), "it has just begun");
    while clock.now().0 < 2 * RESTS_AFTER.0 {
        let _ = crossbeam_channel::never::<()>().recv_timeout(Duration::from_millis(10));
    }
    use crate::probe::uvm::abi::event::{GPU_FAULT, REPLAY};
    assert_eq!([None, Some(REPLAY), Some(GPU_FAULT)].map(&mut rests_after), [true, true, false]);
}

#[test]
fn reattaching_without_a_context_leaves_the_level_off() {
    let mut tracer = start(Reader::detached(), Clock::start(), Box::new(|_| {})).unwrap();
    assert!(tracer.reattach().is_err());
    assert_eq!(tracer.level(), TraceLevel::Off);
}
