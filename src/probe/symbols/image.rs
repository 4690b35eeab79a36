//! One file with code in it.

use addr2line::Loader;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where sources of libraries lie, C++'s and Rust's standard ones above all.
const LIBRARIES: [&str; 3] = ["/usr/", "/rustc/", "/opt/"];

/// Farther than this from a symbol no function reaches.
const FARTHEST: u64 = 1 << 20;

/// What a file says of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Function, demangled.
    pub function: Option<String>,
    /// `file:line`.
    pub place: Option<String>,
}

/// A loaded segment: where it is in the file, and at which address the linker put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    offset: u64,
    length: u64,
    address: u64,
}

/// An ELF file with its symbols and its debug information, its separate debug file included where there is one.
pub struct Image {
    loader: Loader,
    segments: Vec<Segment>,
}

impl Image {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let segments = segments(&File::open(path)?)?;
        let loader = Loader::new(path).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { loader, segments })
    }

    /// What is at this offset of the file.
    pub fn at(&self, offset: u64) -> Said {
        let Some(address) = address(&self.segments, offset) else { return Said::default() };
        let mut said = Said::default();
        if let Ok(mut frames) = self.loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let place = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
                let theirs = place.as_ref().is_some_and(|(file, _)| LIBRARIES.iter().any(|dir| file.starts_with(dir)));
                // From the innermost outwards: what was inlined from a library's header is asked for by a line of the
                // program, which is the one that the reader can change. Without one, the innermost stands.
                if said == Said::default() || !theirs {
                    said.function = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
                    said.place = place.map(|(file, line)| format!("{file}:{line}"));
                }
                if !theirs {
                    break;
                }
            }
        }
        if said.function.is_none() {
            said.function = self.symbol(address);
        }
        said
    }

    /// The symbol before the address and the distance from it, as debuggers write it: a stripped file may have no symbol for
    /// the function itself.
    fn symbol(&self, address: u64) -> Option<String> {
        let symbol = self.loader.find_symbol_info(address)?;
        let name = addr2line::demangle_auto(symbol.name().into(), None);
        match address.checked_sub(symbol.address())? {
            0 => Some(name.into_owned()),
            far if far > FARTHEST => None,
            distance => Some(format!("{name}+{distance:#x}")),
        }
    }
}

fn address(segments: &[Segment], offset: u64) -> Option<u64> {
    let segment = segments.iter().find(|s| offset >= s.offset && offset - s.offset < s.length)?;
    // Nothing is at the last address, to which addr2line would add one.
    segment.address.checked_add(offset - segment.offset).filter(|address| *address < u64::MAX)
}

/// The loaded segments of a 64-bit little-endian ELF file.
fn segments(file: &File) -> io::Result<Vec<Segment>> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "not a 64-bit ELF file");
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Err(odd());
    }
    let (table, size, count) = (u64_at(&header, 32), u16_at(&header, 54), u16_at(&header, 56));
    if usize::from(size) < 56 {
        return Err(odd());
    }
    let mut segments = Vec::new();
    for n in 0..u64::from(count) {
        let mut entry = [0u8; 56];
        let at = n.checked_mul(size.into()).and_then(|at| table.checked_add(at)).ok_or_else(odd)?;
        file.read_exact_at(&mut entry, at)?;
        // PT_LOAD
        if entry.starts_with(&[1, 0, 0, 0]) {
            let (offset, address, length) = (u64_at(&entry, 8), u64_at(&entry, 16), u64_at(&entry, 32));
            segments.push(Segment { offset, length, address });
        }
    }
    Ok(segments)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_becomes_the_linkers_address() {
        let segments = [
            Segment { offset: 0, length: 0x1000, address: 0x40_0000 },
            Segment { offset: 0x1000, length: 0x500, address: 0x40_3000 },
        ];
        assert_eq!(address(&segments, 0x1010), Some(0x40_3010));
        assert_eq!(address(&segments, 0x1500), None);
        // Found by fuzzing: the address after the last one does not exist.
        let last = [Segment { offset: 0, length: u64::MAX, address: u64::MAX - 4 }];
        assert_eq!([3, 4, 5].map(|offset| address(&last, offset)), [Some(u64::MAX - 1), None, None]);
    }

    #[test]
    fn without_debug_information_a_symbol_comes_with_the_distance_from_it() {
        let function = libc::getpid as unsafe extern "C" fn() -> libc::pid_t as usize as u64;
        let text = std::fs::read_to_string("/proc/self/maps").unwrap();
        let maps = crate::probe::process::parse_maps(&text);
        let mapping = maps.iter().find(|mapping| mapping.holds(function)).unwrap();
        let image = Image::open(&mapping.path).unwrap();
        let name = |at: u64| image.at(at - mapping.start + mapping.offset).function.unwrap_or_default();
        assert!(name(function).ends_with("getpid"), "{}", name(function));
        // Where the C library's debug file is installed, it has a name without a distance.
        let inside = name(function + 1);
        assert!(inside.ends_with("getpid+0x1") || inside.ends_with("getpid"), "{inside}");
    }

    #[test]
    fn a_file_that_is_no_program_is_refused_whatever_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let mut cut = b"\x7fELF\x02\x01".to_vec();
        cut.resize(64, 0xFF);
        for bytes in [b"".as_slice(), b"#!/bin/sh\n", &[0u8; 200], &cut] {
            std::fs::write(&path, bytes).unwrap();
            assert!(Image::open(&path).is_err());
        }
    }
}
