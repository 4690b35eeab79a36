use super::*;
use crate::event::{BlockActivity, Counters, UvmEvents};
use crate::units::Bytes;

/// Memory of our own of which no page is touched, page-aligned within a larger piece.
struct Memory {
    bytes: Vec<u8>,
    first: usize,
}

/// Above what any allocator keeps for reuse (glibc: 32 MiB), so that the pages are fresh.
const FRESH: usize = 48 << 20;
/// The allocator writes at the piece's beginning, and a huge page may come with that.
const APART: usize = 4 << 20;

impl Memory {
    fn new() -> Self {
        let bytes = vec![0u8; FRESH];
        let first = APART + bytes[APART..].as_ptr().align_offset(PAGE as usize);
        Self { bytes, first }
    }

    fn address(&self) -> u64 {
        self.bytes.as_ptr() as u64 + self.first as u64
    }

    fn touch(&mut self, pages: u64) {
        self.bytes[self.first..self.first + (pages * PAGE) as usize].fill(1);
    }

    fn range(&self, pages: u64) -> Range {
        let bytes = Bytes(pages * PAGE);
        Range { address: self.address(), bytes, memory: MemoryKind::Managed, label: String::new() }
    }
}

fn look(ranges: &Ranges) -> Vec<Mapped> {
    let (pagemap, clock, mut events) = (File::open("/proc/self/pagemap").unwrap(), Clock::start(), Vec::new());
    ranges.look(&pagemap, &clock, &mut events);
    let mapped = |event: Event| match event.body {
        Body::Mapped(mapped) => mapped,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(mapped).collect()
}

fn window(level: TraceLevel, counters: Counters, blocks: Vec<BlockActivity>) -> Body {
    let events = Some(Box::new(UvmEvents { blocks, ..UvmEvents::default() }));
    Body::Uvm(Box::new(UvmTick { window: Nanos::millis(10), level, counters: Some(counters), events }))
}

#[test]
fn touched_pages_are_mapped_and_others_are_not() {
    let pages = 4 * BLOCK / PAGE;
    let mut memory = Memory::new();
    let ranges = Ranges::default();
    ranges.note(&Body::Allocated(memory.range(pages)));
    let sum = |mapped: &[Mapped]| mapped[0].pages.iter().map(|n| u64::from(*n)).sum::<u64>();
    // The allocator may hand out a huge page, so only the ends of the scale are certain.
    assert_eq!(sum(&look(&ranges)), 0);
    memory.touch(pages);
    assert_eq!(sum(&look(&ranges)), pages, "with nothing traced everything is read again");
    ranges.note(&Body::Freed { address: memory.address() });
    assert!(look(&ranges).is_empty());
}

#[test]
fn only_what_may_have_changed_is_read_again() {
    let pages = 4 * BLOCK / PAGE;
    let mut memory = Memory::new();
    let ranges = Ranges::default();
    ranges.note(&Body::Allocated(memory.range(pages)));
    ranges.lock().traced = true;
    look(&ranges);
    memory.touch(pages);
    assert!(look(&ranges).is_empty(), "no window has told of anything");
    let second = BlockActivity { block: memory.address() / BLOCK + 1, cpu_faults: 1, ..BlockActivity::default() };
    ranges.note(&window(TraceLevel::Full, Counters::default(), vec![second]));
    let read = look(&ranges);
    assert_eq!((read[0].pages[0], read[0].pages[1], read[0].pages[2]), (0, 512, 0));
    let moved = Counters { bytes_htod: 4096, ..Counters::default() };
    ranges.note(&window(TraceLevel::Counters, moved, Vec::new()));
    assert_eq!(look(&ranges)[0].pages[2], 512, "bytes moved and nobody said where");
}

#[test]
fn odd_ranges_are_ignored_or_unread() {
    let ranges = Ranges::default();
    for (address, bytes) in [(u64::MAX, 100), (0, 0), (0, u64::MAX), (1 << 62, BLOCK)] {
        let range = Range { address, bytes: Bytes(bytes), memory: MemoryKind::Managed, label: String::new() };
        ranges.note(&Body::Allocated(range));
    }
    assert!(look(&ranges).iter().all(|mapped| mapped.pages.iter().all(|n| *n == 0)));
    let explicit = Range { address: 1 << 40, bytes: Bytes(BLOCK), memory: MemoryKind::Explicit, label: String::new() };
    let none = Ranges::default();
    none.note(&Body::Allocated(explicit));
    assert!(look(&none).is_empty());
}
