//! Pictures from the program itself: what each format shows is what the dashboard would show.
#![allow(clippy::unwrap_used, clippy::panic)]

use assert_cmd::Command;
use predicates::str::contains;
use std::io::Cursor;
use std::num::NonZeroU16;
use std::path::Path;
use umtop::recording::{Reader, Stored};
use umtop::render::{self, Rgb, Tape};
use umtop::ui::Screen;

const RECORDING: &str = "assets/recordings/prefetch-switched-on.umr";
/// Columns and rows of every picture here.
const SIZE: (usize, usize) = (100, 30);

fn umtop(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("umtop").unwrap();
    command.args(args).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// The bytes of a picture on standard output.
fn rendered(args: &[&str]) -> Vec<u8> {
    let all = [&["render", RECORDING, "--size", "100x30", "-o", "-"], args].concat();
    umtop(&all).assert().success().get_output().stdout.clone()
}

fn text(args: &[&str]) -> String {
    String::from_utf8(rendered(&[args, &["--format", "txt"]].concat())).unwrap()
}

#[test]
fn a_moment_shows_what_was_known_then() {
    let (early, late) = (text(&["--at", "5s"]), text(&[]));
    assert!(early.contains("REPLAY 1×") && late.contains("REPLAY ended"));
    assert!(!early.contains("prefetch on") && late.contains("prefetch on"), "{early}\n{late}");
    let caption = early.lines().last().unwrap();
    for part in ["REPLAY, MEASURED", "NVIDIA H200", "driver 580", "2026-11-30T", "(5.0 s)"] {
        assert!(caption.contains(part), "{caption}");
    }
}

#[test]
fn a_terminal_that_is_fed_the_ansi_picture_shows_the_plain_one() {
    let ansi = String::from_utf8(rendered(&["--format", "ansi"])).unwrap();
    assert_eq!(played(&[ansi.trim_end().replace('\n', "\r\n")]), text(&[]).trim_end());
}

/// What a terminal shows in the end.
fn played(outputs: &[String]) -> String {
    let side = |n: usize| NonZeroU16::new(n as u16).unwrap();
    let mut terminal = vt100::Parser::new(side(SIZE.1 + 1), side(SIZE.0), 0);
    outputs.iter().for_each(|output| terminal.process(output.as_bytes()));
    let screen = terminal.screen().contents();
    // The line below the screen begins with a blank there.
    let lines: Vec<&str> = screen.trim_end().lines().map(str::trim_end).collect();
    let (last, rows) = lines.split_last().unwrap();
    [rows.join("\n"), last.trim_start().to_owned()].join("\n")
}

#[test]
fn a_cast_ends_in_the_picture_of_its_last_moment() {
    let cast = rendered(&["--format", "cast", "--from", "0s", "--to", "10s", "--fps", "2"]);
    let cast = String::from_utf8(cast).unwrap();
    let mut lines = cast.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!((&head["version"], &head["width"], &head["height"]), (&2.into(), &100.into(), &31.into()));
    let frames: Vec<serde_json::Value> = lines.collect();
    assert!(frames.windows(2).all(|w| w[0][0].as_f64() < w[1][0].as_f64()));
    let outputs: Vec<String> = frames.iter().map(|frame| frame[2].as_str().unwrap().to_owned()).collect();
    // The first frame is that of the recording's start: of its header.
    let header = Reader::open(Path::new(RECORDING)).unwrap().next_event().unwrap().unwrap();
    let last = header.at.0 + 500_000_000 * (frames.len() as u64 - 1);
    let at = format!("{}.{:09}s", last / 1_000_000_000, last % 1_000_000_000);
    assert_eq!(played(&outputs), text(&["--at", &at]).trim_end());
}

#[test]
fn a_gif_has_the_frames_that_were_asked_for() {
    let bytes = rendered(&["--format", "gif", "--from", "1s", "--to", "3s", "--fps", "2"]);
    let mut decoder = gif::DecodeOptions::new().read_info(Cursor::new(&bytes)).unwrap();
    let mut delays = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        delays.push(frame.delay);
    }
    assert_eq!(delays, [50, 50, 50, 50, 200]);
}

#[test]
fn a_png_has_12_by_24_pixels_a_cell_and_colours() {
    let bytes = rendered(&["--format", "png"]);
    let mut reader = png::Decoder::new(Cursor::new(&bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    // A border of one cell's width around it, and one and a half rows for the line below.
    assert_eq!((info.width, info.height), (100 * 12 + 24, 30 * 24 + 36 + 24));
    let mut tape = Tape::open(&Stored::file(Path::new(RECORDING))).unwrap();
    tape.to_end().unwrap();
    let picture = render::shot(&mut tape.model, Screen::Live, (100, 30));
    // Most pixels of the badge's cells have its colour (letters have the rest; charts may use the same colour).
    let papers: Vec<Rgb> = picture.cells.iter().filter_map(|cell| cell.paper).collect();
    let wanted = papers.iter().filter(|paper| **paper == papers[0]).count() * 12 * 24;
    let badge = pixels.chunks(3).filter(|p| **p == [papers[0].0, papers[0].1, papers[0].2]).count();
    assert!(badge > wanted / 2, "{badge} of {wanted}");
}

#[test]
fn an_svg_is_the_same_to_the_byte_and_holds_its_font_and_texts() {
    let (once, again) = (rendered(&["--format", "svg"]), rendered(&["--format", "svg"]));
    assert_eq!(once, again);
    let svg = String::from_utf8(once).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("data:font/woff2;base64,").count(), 2);
    assert!(svg.contains(">Migrated</text>") && svg.contains("<title>REPLAY, MEASURED · NVIDIA H200"));
    assert!(!svg.contains('⣿') && !svg.contains('─'), "charts and frames are geometry, not letters");
}

#[test]
fn what_is_not_in_the_recording_is_told_in_one_line() {
    for (args, code, says) in [
        (&["--at", "100s"][..], 1, "runs from 0.324 s to 10.557 s"),
        (&["--at", "0s"], 1, "0.000 s is not in it"),
        (&["--screen", "cinema"], 2, "live"),
        (&["--from", "1s", "--format", "png"], 2, "gif or cast"),
        (&["--from", "3s", "--to", "2s", "--format", "gif"], 2, "ends before it begins"),
        (&["--size", "0x0"], 2, "160x48"),
    ] {
        let all = [&["render", RECORDING, "-o", "-"], args].concat();
        let all = if args.contains(&"--format") { all } else { [&all[..], &["--format", "txt"]].concat() };
        umtop(&all).assert().code(code).stdout("").stderr(contains(says));
    }
    umtop(&["render", "README.md", "-o", "x.svg"]).assert().code(1).stderr(contains("is not a umtop recording"));
    assert!(!Path::new("x.svg").exists());
}

#[test]
fn a_file_is_only_overwritten_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.txt");
    let args = ["render", RECORDING, "-o", out.to_str().unwrap()];
    umtop(&args).assert().success();
    umtop(&args).assert().code(2).stderr(contains("exists"));
    umtop(&[&args[..], &["--force"]].concat()).assert().success();
}

#[test]
fn a_simulated_session_is_called_so_in_every_picture() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("sim.umr");
    let tape = tape.to_str().unwrap();
    let bench = ["bench", "--device", "sim", "sequential", "--size", "8MiB", "--runs", "1", "--warmups", "0"];
    umtop(&[&bench[..], &["--record", tape]].concat()).assert().success();
    for (format, says) in [("txt", "REPLAY, SIMULATED h200"), ("svg", "<title>REPLAY, SIMULATED h200")] {
        umtop(&["render", tape, "--format", format, "-o", "-"]).assert().success().stdout(contains(says));
    }
}

#[test]
fn every_size_of_terminal_has_a_picture() {
    for size in ["1x1", "59x17", "60x18", "80x24", "200x60"] {
        let args = ["render", RECORDING, "--size", size, "--format", "png", "-o", "-"];
        let output = umtop(&args).assert().success().get_output().stdout.clone();
        assert!(png::Decoder::new(Cursor::new(&output)).read_info().is_ok(), "{size}");
    }
}

/// Its header comes twice: the second one names the GPU, which is known once the program has a context.
#[test]
fn a_watched_program_is_still_known_after_its_gpu_is() {
    let mut command = assert_cmd::Command::cargo_bin("umtop").unwrap();
    let args =
        ["render", "assets/recordings/watch-cuda.umr", "--at", "12s", "--size", "120x40", "--format", "txt", "-o", "-"];
    let shown = command.args(args).assert().success().get_output().stdout.clone();
    let shown = String::from_utf8(shown).unwrap();
    for text in ["watch_target 25 256", "watch_target.cu:48", "check_on_cpu", "NVIDIA H200"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}
