//! The text of `/proc/PID/maps`.

use std::path::{Path, PathBuf};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// Whether code may run there.
    pub executable: bool,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// The file, or a name in brackets; empty for anonymous memory.
    pub path: PathBuf,
}

impl Mapping {
    /// Whether an address lies in it.
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The mappings, in the file's order, which is ascending. A line that makes no sense is left out.
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mapping> {
    // 7f0000000000-7f0000200000 rw-s 7f0000000000 00:05 123    /dev/nvidia-uvm
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        (!field.is_empty()).then_some(field)
    };
    let (range, access, offset) = (field()?, field()?, field()?);
    let (_device, _inode) = (field()?, field()?);
    let (start, end) = range.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    (start < end).then_some(Mapping {
        start,
        end,
        executable: access.as_bytes().get(2) == Some(&b'x'),
        offset: hex(offset)?,
        path: PathBuf::from(rest.trim_start()),
    })
}

/// The mappings of a device node: for the UVM node those are the managed ranges.
pub fn of_node<'m>(mappings: &'m [Mapping], node: &Path) -> impl Iterator<Item = &'m Mapping> {
    mappings.iter().filter(move |mapping| mapping.path == node)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 1055  /usr/bin/with blank
7f2a00000000-7f2a10000000 rw-s 7f2a00000000 00:05 611                      /dev/nvidia-uvm
7f2a10000000-7f2a10200000 ---p 00000000 00:00 0 
7ffd5b5e0000-7ffd5b601000 rw-p 00000000 00:00 0                          [stack]
nonsense
7f00-6f00 r--p 0 0 0
zz-11 r--p 0 0 0
";

    #[test]
    fn mappings_are_read_and_nonsense_is_left_out() {
        let all = parse(TEXT);
        assert_eq!(all.len(), 4, "{all:?}");
        assert_eq!(all[0].path, Path::new("/usr/bin/with blank"));
        assert!(all[0].executable && !all[1].executable);
        assert_eq!((all[0].offset, all[2].path.as_os_str().len()), (0x2000, 0));
        assert!(all[0].holds(0x55d0_c8a0_0000) && !all[0].holds(0x55d0_c8a2_1000));
    }

    #[test]
    fn managed_ranges_are_those_of_the_node() {
        let all = parse(TEXT);
        let managed: Vec<u64> = of_node(&all, Path::new("/dev/nvidia-uvm")).map(|m| m.end - m.start).collect();
        assert_eq!(managed, [256 << 20]);
    }

    #[test]
    fn this_process_has_code() {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here = this_process_has_code as fn() as usize as u64;
        assert!(parse(&text).iter().any(|mapping| mapping.executable && mapping.holds(here)));
    }
}
