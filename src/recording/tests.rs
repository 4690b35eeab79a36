use super::*;
use crate::event::{Body, Event, Level, Notice};
use crate::units::Stamp;
use proptest::prelude::*;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn event(ms: u64, text: &str) -> Event {
    let notice = Notice { level: Level::Info, source: "test".into(), text: text.into() };
    Event { at: Stamp(ms * 1_000_000), body: Body::Notice(notice) }
}

fn written(dir: &Path, events: &[Event]) -> PathBuf {
    let path = dir.join("a.umr");
    let mut writer = Writer::create(&path).unwrap();
    events.iter().for_each(|e| writer.write(e).unwrap());
    writer.finish().unwrap();
    path
}

fn read_all(path: &Path) -> Result<(Vec<Event>, bool), ReadError> {
    let mut reader = Reader::open(path)?;
    let mut events = Vec::new();
    while let Some(event) = reader.next_event()? {
        events.push(event);
    }
    Ok((events, reader.cut()))
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let events: Vec<Event> = (0..50).map(|i| event(i * 100, &format!("line {i}\nwith a break"))).collect();
    assert_eq!(read_all(&written(dir.path(), &events)).unwrap(), (events, false));
}

#[test]
fn a_cut_recording_gives_the_whole_frames_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let events: Vec<Event> = (0..5_000).map(|i| event(i, &format!("{:x}", i * 2_654_435_761))).collect();
    let path = written(dir.path(), &events);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let (read, cut) = read_all(&path).unwrap();
    assert!(cut);
    assert!(read.len() >= 3_900 && events.starts_with(&read), "{}", read.len());
}

#[test]
fn an_unfinished_recording_keeps_all_but_the_last_second() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.umr");
    let mut writer = Writer::create(&path).unwrap();
    (0..3_500).for_each(|i| writer.write(&event(i, "x")).unwrap());
    std::mem::forget(writer);
    let (read, _) = read_all(&path).unwrap();
    assert!(read.len() >= 3_000, "{}", read.len());
}

#[test]
fn a_recording_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), &[event(0, "first")]);
    assert!(matches!(Writer::create(&path), Err(WriteError::Exists(_))));
    assert_eq!(read_all(&path).unwrap().0.len(), 1);
}

fn raw(dir: &Path, text: &[u8]) -> PathBuf {
    let path = dir.join("raw.umr");
    let mut encoder = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap();
    path
}

#[test]
fn newer_foreign_and_hostile_files_give_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let newer = br#"{"format":"umtop-recording","major":1,"minor":99,"umtop":"9.9.9"}"#;
    let error = read_all(&raw(dir.path(), &[newer.as_slice(), b"\n"].concat())).unwrap_err().to_string();
    assert!(error.contains("install umtop 9.9.9") && !error.contains('\n'), "{error}");

    let text = dir.path().join("text");
    std::fs::write(&text, "hello").unwrap();
    assert!(matches!(read_all(&text), Err(ReadError::NotARecording(_))));
    assert!(matches!(read_all(&raw(dir.path(), b"{\"format\":\"other\"}\n")), Err(ReadError::NotARecording(_))));
    assert!(matches!(read_all(&dir.path().join("none")), Err(ReadError::Io { .. })));

    let first = br#"{"format":"umtop-recording","major":1,"minor":0,"umtop":"0.1.0"}"#;
    let huge = [first.as_slice(), b"\n", &vec![b'a'; MAX_LINE + 10]].concat();
    let error = read_all(&raw(dir.path(), &huge)).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("longer than"), "{error}");
    let bad = [first.as_slice(), b"\n{\"at\":5,\"body\":{\"surprise\":1}}\n"].concat();
    let error = read_all(&raw(dir.path(), &bad)).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("surprise"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_the_reader_panic(damage in proptest::collection::vec((0usize..4_000, any::<u8>()), 0..20)) {
        let dir = tempfile::tempdir().unwrap();
        let events: Vec<Event> = (0..200).map(|i| event(i * 10, &i.to_string())).collect();
        let path = written(dir.path(), &events);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in damage {
            let n = bytes.len();
            bytes[at % n] = byte;
        }
        std::fs::write(&path, bytes).unwrap();
        let _ = read_all(&path);
    }
}
