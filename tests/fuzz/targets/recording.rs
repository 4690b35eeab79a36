//! Lines of a recording: whatever they say, they are folded and drawn, or refused in one line.
#![no_main]

mod file;

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use umtop::recording::Stored;
use umtop::render::{self, Tape};
use umtop::ui::Screen;

const FIRST: &[u8] = b"{\"format\":\"umtop-recording\",\"major\":1,\"minor\":1,\"umtop\":\"0\"}\n";

fuzz_target!(|lines: &[u8]| {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("zstd");
    let header = include_str!("header.json");
    // Most lines make no sense without a header; some inputs bring their own.
    let parts: &[&[u8]] = if lines.starts_with(b"{\"at\":0,\"body\":{\"header\"") {
        &[FIRST, lines]
    } else {
        &[FIRST, header.as_bytes(), lines]
    };
    for part in parts {
        encoder.write_all(part).expect("memory");
    }
    let path = file::with(&encoder.finish().expect("memory"));
    let told = match Tape::open(&Stored::file(&path)) {
        Err(error) => Some(error.to_string()),
        Ok(mut tape) => {
            let told = tape.to_end().err().map(|error| error.to_string());
            // All of them would take most of the time.
            render::shot(&mut tape.model, Screen::ALL[lines.len() % Screen::ALL.len()], (100, 30));
            told
        }
    };
    assert!(told.is_none_or(|line| !line.is_empty() && !line.chars().any(char::is_control)));
});
