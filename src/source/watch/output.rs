//! The newest lines of a file that grows.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Lines told of at once; the file has all.
const MAX_LINES: usize = 100;
/// Characters of a line that are told.
const MAX_CHARS: usize = 400;
/// Bytes taken in at once, so that a flood does not hold up the watching.
const MAX_BYTES: u64 = 4 << 20;

/// Follows a command's output.
pub struct Output {
    file: File,
    /// What came after the last end of a line.
    rest: Vec<u8>,
}

impl Output {
    /// From the file's start; `None` if it cannot be read.
    pub fn open(path: &Path) -> Option<Self> {
        Some(Self { file: File::open(path).ok()?, rest: Vec::new() })
    }

    /// Lines that are new, at most 100, and how many before them were left out; `None` if there are none.
    pub fn read(&mut self) -> Option<(Vec<String>, u64)> {
        (&mut self.file).take(MAX_BYTES).read_to_end(&mut self.rest).ok()?;
        let end = self.rest.iter().rposition(|byte| *byte == b'\n')? + 1;
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        let all: Vec<&[u8]> = whole[..end - 1].split(|byte| *byte == b'\n').collect();
        let skipped = all.len().saturating_sub(MAX_LINES);
        Some((all[skipped..].iter().map(|line| shown(line)).collect(), skipped as u64))
    }
}

/// A line as a terminal would leave it: the last of what was written over, without colours and cursor movements.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut shown = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // CSI sequences end at a letter or one of a few signs; others are two characters long.
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    let _ = chars.find(|c| ('@'..='~').contains(c));
                }
            }
            '\t' => shown.push(' '),
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    shown.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut file = File::create(&path).unwrap();
        let mut output = Output::open(&path).unwrap();
        assert_eq!(output.read(), None);
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(output.read(), Some((vec!["one".to_owned()], 0)));
        assert_eq!(output.read(), None);
        file.write_all(b"o\n\n").unwrap();
        assert_eq!(output.read(), Some((vec!["two".to_owned(), String::new()], 0)));
    }

    #[test]
    fn a_flood_is_told_of_by_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let text: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let (lines, skipped) = Output::open(&path).unwrap().read().unwrap();
        assert_eq!((lines.len(), skipped), (100, 900));
        assert_eq!(lines.last().map(String::as_str), Some("line 999"));
    }

    #[test]
    fn nothing_of_a_line_can_move_the_cursor() {
        assert_eq!(shown(b"\x1b[31mred\x1b[0m\tand\x07 plain"), "red and plain");
        assert_eq!(shown(b" 10 %\r 50 %\r100 %\r"), "100 %");
        assert_eq!(shown(b"\x1b"), "");
        assert_eq!(shown(b"\xff\xfe"), "\u{fffd}\u{fffd}");
        assert_eq!(shown("é".repeat(1_000).as_bytes()).chars().count(), MAX_CHARS);
    }
}
