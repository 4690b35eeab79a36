//! Recordings come from anywhere: whatever is in one, it is shown, or refused in one line, and nothing panics.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use umtop::export::{self, ExportError};
use umtop::recording::{Reader, Stored};
use umtop::render::{self, Tape};
use umtop::ui::Screen;

/// Numbers that break what trusts them.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "255",
    "65536",
    "4294967295",
    "1099511627775",
    "1152921504606846975",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "99999999999999999999999",
];

/// One way to spoil a line of a real recording.
#[derive(Clone, Debug)]
enum Damage {
    Number { line: usize, nth: usize, with: usize },
    Drop(usize),
    Repeat(usize),
    Swap(usize, usize),
    Byte { line: usize, at: usize, with: u8 },
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        6 => (any::<usize>(), any::<usize>(), any::<usize>()).prop_map(|(line, nth, with)| Damage::Number { line, nth, with }),
        1 => any::<usize>().prop_map(Damage::Drop),
        1 => any::<usize>().prop_map(Damage::Repeat),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
        1 => (any::<usize>(), any::<usize>(), any::<u8>()).prop_map(|(line, at, with)| Damage::Byte { line, at, with }),
    ]
}

fn lines(name: &str) -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    let file = std::fs::File::open(format!("assets/recordings/{name}.umr")).unwrap();
    zstd::Decoder::new(file).unwrap().read_to_end(&mut text).unwrap();
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn spoil(lines: &mut Vec<Vec<u8>>, damage: &Damage) {
    // The first line decides whether the others are looked at: it stays.
    let n = lines.len() - 1;
    let at = |i: usize| 1 + i % n;
    match *damage {
        Damage::Number { line, nth, with } => {
            let line = &mut lines[at(line)];
            let text = String::from_utf8_lossy(line).into_owned();
            let starts: Vec<usize> = (1..text.len())
                .filter(|i| text.as_bytes()[*i].is_ascii_digit() && b":,[".contains(&text.as_bytes()[i - 1]))
                .collect();
            if let Some(start) = starts.get(nth % starts.len().max(1)) {
                let end = text[*start..].find([',', ']', '}']).map_or(text.len(), |i| start + i);
                *line = [&text[..*start], NUMBERS[with % NUMBERS.len()], &text[end..]].concat().into_bytes();
            }
        }
        Damage::Drop(line) => drop(lines.remove(at(line))),
        Damage::Repeat(line) => lines.insert(at(line), lines[at(line)].clone()),
        Damage::Swap(a, b) => lines.swap(at(a), at(b)),
        Damage::Byte { line, at: i, with } => {
            let line = &mut lines[at(line)];
            let n = line.len();
            line[i % n] = with;
        }
    }
}

fn pack(path: &Path, lines: &[Vec<u8>]) {
    let mut encoder = zstd::Encoder::new(std::fs::File::create(path).unwrap(), 1).unwrap();
    for line in lines {
        encoder.write_all(line).and_then(|()| encoder.write_all(b"\n")).unwrap();
    }
    encoder.finish().unwrap();
}

/// Does everything that can be done with a recording.
fn survive(path: &Path) -> Result<(), TestCaseError> {
    let one_line = |text: String| prop_assert_one_line(&text);
    for kind in 0..3 {
        let mut out = Vec::new();
        let exported = Reader::open(path).map_err(ExportError::from).and_then(|mut reader| match kind {
            0 => export::csv(&mut reader, &mut out),
            1 => export::json_lines(&mut reader, &mut out),
            _ => export::trace(&mut reader, &mut out),
        });
        if let Err(error) = exported {
            one_line(error.to_string())?;
        }
    }
    let mut tape = match Tape::open(&Stored::file(path)) {
        Ok(tape) => tape,
        Err(error) => return one_line(error.to_string()),
    };
    if let Err(error) = tape.to_end() {
        one_line(error.to_string())?;
    }
    for screen in Screen::ALL {
        for size in [(60, 18), (120, 36)] {
            render::svg(&render::shot(&mut tape.model, screen, size));
        }
    }
    Ok(())
}

fn prop_assert_one_line(text: &str) -> Result<(), TestCaseError> {
    prop_assert!(!text.is_empty() && !text.chars().any(char::is_control) && text.chars().count() < 600, "{text:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_spoilt_recording_is_shown_or_refused(damages in proptest::collection::vec(damage(), 1..12), prefetch in any::<bool>()) {
        let name = if prefetch { "sequential-prefetch" } else { "ping-pong" };
        let mut lines = lines(name);
        damages.iter().for_each(|damage| spoil(&mut lines, damage));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spoilt.umr");
        pack(&path, &lines);
        survive(&path)?;
    }

    #[test]
    fn a_recording_with_wrong_bytes_or_a_cut_end_is_shown_or_refused(
        wrong in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4), keep in 0.0f64..1.0,
    ) {
        let mut bytes = std::fs::read("assets/recordings/ping-pong.umr").unwrap();
        for (at, with) in wrong {
            let n = bytes.len();
            bytes[at % n] = with;
        }
        bytes.truncate((bytes.len() as f64 * keep) as usize);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cut.umr");
        std::fs::write(&path, bytes).unwrap();
        survive(&path)?;
    }
}

/// Every number of a window at its largest, many times over: sums must hold.
#[test]
fn the_largest_numbers_that_are_let_in_do_not_overflow() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("large.umr");
    let mut all = lines("sequential-prefetch");
    let tick = "{\"at\":11000000000,\"body\":{\"uvm\":{\"window\":1000,\"level\":\"full\",\"counters\":{\"bytes_htod\":N,\
         \"bytes_dtoh\":N,\"cpu_faults\":N,\"gpu_faults\":N},\"events\":{\"gpu_faults\":[[\"read\",N]],\"batches\":N,\
         \"batch_latency_ns\":[[1,N]],\"copy_bytes\":[[1,N]],\"thrashing\":N,\"lost\":[[1,N]],\
         \"migrated\":[{\"src\":\"cpu\",\"dst\":{\"gpu\":0},\"cause\":\"fault\",\"bytes\":N,\"copies\":N}]}}}}";
    let tick = tick.replace('N', &((1u64 << 40) - 1).to_string());
    all.extend((0..2_000).map(|_| tick.clone().into_bytes()));
    pack(&path, &all);
    let mut tape = Tape::open(&Stored::file(&path)).unwrap();
    tape.to_end().unwrap();
    assert!(tape.model.session.uvm.counters.bytes_htod > 1 << 50);
    let picture = render::shot(&mut tape.model, Screen::Live, (120, 36));
    assert!(render::txt(&picture).contains("lost"));
}

#[test]
fn a_huge_window_of_zstd_and_a_deep_line_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.umr");
    // A frame header that asks for a window of 1 GiB (RFC 8878, 3.1.1.1.2: exponent 20).
    std::fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x01, 0x00, 0x00]).unwrap();
    let error = Reader::open(&path).map(|_| ()).unwrap_err().to_string();
    assert!(!error.contains('\n') && error.contains("bomb.umr"), "{error}");

    let deep = [b"{\"at\":".as_slice(), &vec![b'['; 100_000]].concat();
    let mut all = lines("ping-pong");
    all.insert(2, deep);
    pack(&path, &all);
    let mut tape = Tape::open(&Stored::file(&path)).unwrap();
    let error = tape.to_end().unwrap_err().to_string();
    assert!(error.contains("line 3") && error.len() < 400, "{error}");
}
