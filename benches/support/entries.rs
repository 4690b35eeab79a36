//! Entries of the driver's queue, as a sweep leaves them.

/// Raw faults in a batch.
const BATCH: u64 = 256;

fn entry(kind: u8, bytes: &[(usize, &[u8])]) -> [u8; 64] {
    let mut entry = [0; 64];
    entry[0] = kind;
    for (at, bytes) in bytes {
        entry[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    entry
}

/// A sweep of 1 GiB: batches of faults on neighbouring pages, each with its replay, and at level full a migration of 64 KiB
/// for every 16th fault, as large as the driver's prefetcher makes them at first.
pub fn sweep(full: bool) -> Vec<[u8; 64]> {
    let mut entries = Vec::new();
    for page in 0..262_144u64 {
        let (address, time) = ((1u64 << 40) + page * 4096, 1_000_000 + page * 500);
        let batch = (page / BATCH) as u32;
        let [address, time] = [address.to_ne_bytes(), time.to_ne_bytes()];
        let batch_bytes = batch.to_ne_bytes();
        entries.push(entry(3, &[(2, &[1]), (3, &[1]), (8, &address), (16, &time), (24, &time), (32, &batch_bytes)]));
        if full && page % 16 == 15 {
            let bytes = 65_536u64.to_ne_bytes();
            entries.push(entry(2, &[(1, &[2]), (2, &[0]), (3, &[1]), (8, &address), (16, &bytes), (32, &time)]));
        }
        if page % BATCH == BATCH - 1 {
            entries.push(entry(4, &[(1, &[1]), (4, &batch_bytes), (8, &time), (16, &time)]));
        }
    }
    entries
}
