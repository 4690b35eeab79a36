//! Writing and reading recordings: events a second and bytes an event: `cargo bench --bench recording`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use divan::counter::{BytesCount, ItemsCount};
use std::path::Path;
use support::events;
use umtop::event::Event;
use umtop::recording::{Reader, Writer};

/// Level full, and level counters from outside.
const RECORDINGS: [&str; 2] = ["sequential", "watch-cuda"];

fn main() {
    let folder = tempfile::tempdir().unwrap();
    for name in RECORDINGS {
        let all = events(name);
        let path = folder.path().join(name);
        write(&path, &all);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let each = bytes as f64 / all.len() as f64;
        println!("{name}: {} events, {bytes} bytes, {each:.1} bytes an event, {} as JSON", all.len(), json(&all));
    }
    divan::main();
}

/// Bytes of the JSON that is compressed.
fn json(all: &[Event]) -> usize {
    all.iter().map(|event| serde_json::to_vec(event).unwrap().len() + 1).sum()
}

fn write(path: &Path, all: &[Event]) {
    let mut writer = Writer::create(path).unwrap();
    all.iter().for_each(|event| writer.write(event).unwrap());
    writer.finish().unwrap();
}

#[divan::bench(args = RECORDINGS, sample_count = 20, sample_size = 1)]
fn written(bencher: divan::Bencher, name: &str) {
    let all = events(name);
    let folder = tempfile::tempdir().unwrap();
    let bencher = bencher.counter(ItemsCount::new(all.len())).counter(BytesCount::new(json(&all)));
    bencher.bench_local(|| {
        let path = folder.path().join("a.umr");
        write(&path, &all);
        std::fs::remove_file(&path).unwrap();
    });
}

#[divan::bench(args = RECORDINGS, sample_count = 20, sample_size = 1)]
fn read(bencher: divan::Bencher, name: &str) {
    let all = events(name);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.umr");
    write(&path, &all);
    let bencher = bencher.counter(ItemsCount::new(all.len())).counter(BytesCount::new(json(&all)));
    bencher.bench_local(|| {
        let mut reader = Reader::open(&path).unwrap();
        let mut n = 0;
        while reader.next_event().unwrap().is_some() {
            n += 1;
        }
        assert_eq!(n, all.len());
    });
}
