//! The reader over rings that tests fill.

use super::*;
use crate::probe::uvm::ring::Ring;

#[test]
fn a_senseless_queue_is_given_up_once() {
    let ring = Ring::new(8).unwrap();
    let driver = ring.producer();
    let mut reader = Reader::over(ring);
    let put = |n| (0..n).for_each(|_| assert!(driver.put(&[0xEE; ENTRY_BYTES])));
    put(SENSELESS - 1);
    reader.drain();
    assert!(reader.senseless().is_none());
    put(1);
    reader.drain();
    assert!(matches!(reader.senseless(), Some(UvmError::OtherInterface(_))));
    assert_eq!(reader.take().1.map(|events| events.malformed), Some(SENSELESS));
    // Without an address space there are no counters to fall back to, so the level is off.
    assert!(reader.set_level(TraceLevel::Counters).is_err());
    assert_eq!(reader.level(), TraceLevel::Off);
    assert!(reader.senseless().is_none(), "told at every tick");
}

#[test]
fn two_address_spaces_are_told_of_together() {
    let (a, b) = (Ring::new(8).unwrap(), Ring::new(8).unwrap());
    let fault = |address: u64| {
        let mut entry = [0u8; ENTRY_BYTES];
        entry[0] = 1;
        entry[8..16].copy_from_slice(&address.to_ne_bytes());
        entry[24..28].copy_from_slice(&4711u32.to_ne_bytes());
        entry
    };
    let (one, other) = (a.producer(), b.producer());
    let mut reader = Reader::over(a);
    reader.spaces.push((SpaceId(1), Space::over(b)));
    [one.put(&fault(0)), one.put(&fault(4096)), other.put(&fault(0))].into_iter().for_each(|put| assert!(put));
    reader.drain();
    let events = reader.take().1.unwrap();
    assert_eq!(events.cpu_faults, 3);
    assert!(events.cpu_sites.iter().all(|site| site.pid == 7), "the owner's number, not the driver's");
    reader.remove(SpaceId(0));
    assert!(other.put(&fault(0)));
    reader.drain();
    assert_eq!(reader.take().1.unwrap().cpu_faults, 1);
}

#[test]
fn waiting_for_address_spaces_is_no_error_at_any_level() {
    let mut reader = Reader::awaiting();
    assert!(reader.idle());
    assert!(reader.set_level(TraceLevel::Full).is_ok());
    assert_eq!(reader.level(), TraceLevel::Full);
    assert_eq!(reader.take(), (None, None), "nothing is known, which is not 0");
}

/// An entry of a type, about an address.
fn entry(kind: u8, address: u64) -> [u8; ENTRY_BYTES] {
    let mut entry = [0u8; ENTRY_BYTES];
    // Processors: from the CPU to the first GPU, or the first GPU where it alone is meant.
    (entry[0], entry[1], entry[3]) = (kind, if kind == 4 { 1 } else { 2 }, 1);
    entry[8..16].copy_from_slice(&address.to_ne_bytes());
    entry
}

#[test]
fn in_a_storm_over_a_tiny_ring_every_event_is_folded_or_counted_as_lost_by_its_type() {
    let ring = Ring::new(2).unwrap();
    let driver = ring.producer();
    let mut reader = Reader::over(ring);
    const EACH: u64 = 50_000;
    let storm = std::thread::spawn(move || {
        (0..EACH).for_each(|n| {
            driver.put(&entry(1, n << 12));
            driver.put(&entry(3, n << 12));
            driver.put(&entry(4, 0));
        });
        driver
    });
    let mut folded = [0u64; 2];
    let mut lost = std::collections::BTreeMap::<u8, u64>::new();
    let mut looks = 0;
    while looks < 2 {
        // Once more after the end.
        looks += u32::from(storm.is_finished());
        reader.drain();
        let Some(events) = reader.take().1 else { continue };
        folded[0] += events.cpu_faults;
        folded[1] += events.gpu_faults.iter().map(|(_, n)| n).sum::<u64>();
        events.lost.iter().for_each(|(kind, n)| *lost.entry(*kind).or_default() += n);
        assert_eq!(events.malformed, 0);
    }
    let of = |kind: u8| lost.get(&kind).copied().unwrap_or(0);
    assert_eq!([folded[0] + of(1), folded[1] + of(3)], [EACH, EACH]);
    assert!(of(1) > 0 && of(3) > 0 && of(4) > 0, "three slots cannot hold a storm: {lost:?}");
    assert_eq!(reader.totals().unwrap().events.unwrap().lost, lost.values().sum::<u64>());
    assert!(reader.senseless().is_none(), "loss is no other interface");
}

#[test]
fn absurd_numbers_make_no_sense_and_enter_no_sum() {
    let ring = Ring::new(6).unwrap();
    let driver = ring.producer();
    let mut reader = Reader::over(ring);
    let migration = |address: u64, bytes: u64| {
        let mut entry = entry(2, address);
        (entry[2], entry[3]) = (0, 1);
        entry[16..24].copy_from_slice(&bytes.to_ne_bytes());
        entry
    };
    for bad in [migration(0, u64::MAX), migration(u64::MAX, 4096), migration(1 << 57, 0), entry(1, u64::MAX)] {
        assert!(driver.put(&bad));
    }
    // Types that no driver has.
    [0, 5, 9, 14, 63, 64, 255].into_iter().for_each(|kind| assert!(driver.put(&entry(kind, 0))));
    assert!(driver.put(&migration(2 << 20, 2 << 20)));
    reader.drain();
    let events = reader.take().1.unwrap();
    assert_eq!((events.malformed, events.cpu_faults), (11, 0));
    assert_eq!(events.migrated.iter().map(|m| m.bytes).collect::<Vec<_>>(), [2 << 20]);
    assert_eq!(events.blocks.len(), 1);
}

#[test]
fn losses_that_no_driver_has_are_another_interface() {
    let ring = Ring::new(3).unwrap();
    let driver = ring.producer();
    let mut reader = Reader::over(ring);
    driver.claim_dropped(2, 1 << 40);
    reader.drain();
    assert!(matches!(reader.senseless(), Some(UvmError::OtherInterface(_))));
    assert_eq!(reader.take().1.unwrap().lost, []);
}
