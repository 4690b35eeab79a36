//! /proc made by hand.

use super::*;
use std::os::unix::fs::symlink;

/// A folder with one process 4711 that has a context on the GPU of minor 1, and its child 4712 that has none.
fn fixture() -> (tempfile::TempDir, ProcFs) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (pid, parent, command) in [("4711", "1", "python\0train.py\0--size\x1b[31m\0"), ("4712", "4711", "")] {
        let at = root.join(pid);
        std::fs::create_dir_all(at.join("fd")).unwrap();
        std::fs::create_dir_all(at.join("task").join(pid)).unwrap();
        let status = format!("Name:\tpython\nState:\tS\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t1000\t1000\t1000\t1000\n");
        std::fs::write(at.join("status"), status).unwrap();
        std::fs::write(at.join("cmdline"), command).unwrap();
        let children = if pid == "4711" { "4712 " } else { "" };
        std::fs::write(at.join("task").join(pid).join("children"), children).unwrap();
        std::fs::write(at.join("task").join(pid).join("comm"), "worker\n").unwrap();
    }
    let links = [("0", "/dev/pts/0"), ("9", "/dev/nvidia1"), ("5", "/dev/nvidia-uvm"), ("12", "/dev/nvidia-uvm")];
    for (number, to) in links.into_iter().chain([("7", "/dev/nvidiactl"), ("8", "/dev/nvidia-uvm-tools")]) {
        symlink(to, root.join("4711/fd").join(number)).unwrap();
    }
    let gpu = root.join("driver/nvidia/gpus/0000:65:00.0");
    std::fs::create_dir_all(&gpu).unwrap();
    let text = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 11\nGPU UUID: \t GPU-1a2b\nDevice Minor: \t 1\n";
    std::fs::write(gpu.join("information"), text).unwrap();
    let proc = ProcFs { root: root.to_owned(), ..ProcFs::default() };
    (dir, proc)
}

#[test]
fn a_process_and_its_descriptors_are_read() {
    let (_dir, proc) = fixture();
    assert_eq!(proc.pids(), [4711, 4712]);
    let process = proc.process(4711).unwrap();
    assert_eq!((process.uid, process.parent, process.pid), (1000, 1, 4711));
    assert_eq!(process.command, "python train.py --size [31m", "nothing in it can move the cursor");
    assert_eq!(proc.process(4712).unwrap().command, "[python]");
    assert_eq!(proc.uvm_fds(4711).unwrap(), [5, 12]);
    assert_eq!(proc.gpu_minors(4711).unwrap(), [1]);
    assert_eq!(proc.uvm_fds(4712).unwrap(), [] as [i32; 0]);
    assert_eq!(proc.any_fd(4711).unwrap(), Some(0));
    assert_eq!(proc.thread_name(4711, 4711).as_deref(), Some("worker"));
    assert_eq!(proc.thread_name(4711, 1), None);
    assert_eq!(proc.process(1).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_status_that_makes_no_sense_is_an_error() {
    let (dir, proc) = fixture();
    std::fs::write(dir.path().join("4711/status"), "Name:\tx\nUid:\tmany\n").unwrap();
    assert_eq!(proc.process(4711).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn the_family_is_found_with_and_without_the_kernels_lists() {
    let (dir, proc) = fixture();
    assert_eq!(proc.family(4711), [4711, 4712]);
    for pid in ["4711", "4712"] {
        std::fs::remove_file(dir.path().join(pid).join("task").join(pid).join("children")).unwrap();
    }
    assert_eq!(proc.family(4711), [4711, 4712], "by their parents");
    assert_eq!(proc.family(99), [99]);
}

#[test]
fn gpus_are_known_by_their_node() {
    let (_dir, proc) = fixture();
    let cards = cards(&proc);
    assert_eq!(cards, [Card { minor: 1, model: "NVIDIA H200".to_owned(), uuid: Some("GPU-1a2b".to_owned()) }]);
    assert!(super::cards(&ProcFs { root: "/nonexistent".into(), ..ProcFs::default() }).is_empty());
}

#[test]
fn users_have_names_where_passwd_has_them() {
    let passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nodd\n";
    assert_eq!(user_name(passwd, 1000), "ann");
    assert_eq!(user_name(passwd, 7), "7");
}

mod ranges {
    use super::*;
    use crate::clock::Clock;
    use crate::event::{Body, Event};
    use crate::probe::Probe;
    use crate::units::{BLOCK, Stamp};
    use std::os::unix::fs::FileExt;

    const START: u64 = 0x4000_0000;

    fn maps(dir: &Path, ranges: &[(u64, u64)]) {
        let lines: String = ranges
            .iter()
            .map(|(at, bytes)| format!("{at:x}-{:x} rw-s {at:x} 00:05 611 /dev/nvidia-uvm\n", at + bytes))
            .collect();
        std::fs::write(dir.join("4711/maps"), lines).unwrap();
    }

    fn present(dir: &Path, pages: u64) {
        let file = std::fs::File::create(dir.join("4711/pagemap")).unwrap();
        file.set_len((START + 64 * BLOCK) / 4096 * 8).unwrap();
        let entries: Vec<u8> = (0..pages).flat_map(|_| (1u64 << 63).to_ne_bytes()).collect();
        file.write_all_at(&entries, START / 4096 * 8).unwrap();
    }

    #[test]
    fn ranges_come_change_and_go() {
        let (dir, proc) = fixture();
        let watched = Watchlist::default();
        let mut probe = RangesProbe::new(proc, Clock::start(), watched.clone());
        let mut now = 0;
        let mut look = |probe: &mut RangesProbe| {
            let mut out: Vec<Event> = Vec::new();
            now += 3_600_000_000_000;
            probe.poll(Stamp(now), &mut out);
            out.into_iter().map(|event| event.body).collect::<Vec<_>>()
        };
        maps(dir.path(), &[(START, 2 * BLOCK)]);
        present(dir.path(), 700);
        assert!(look(&mut probe).is_empty(), "nobody is watched yet");
        watched.set(vec![4711]);
        let bodies = look(&mut probe);
        let [Body::Allocated(range), Body::Mapped(mapped)] = bodies.as_slice() else { panic!("{bodies:?}") };
        assert_eq!((range.address, range.bytes.0), (START, 2 * BLOCK));
        assert_eq!(mapped.pages, [512, 188]);
        assert!(look(&mut probe).is_empty(), "nothing has changed");
        present(dir.path(), 0);
        assert!(matches!(look(&mut probe).as_slice(), [Body::Mapped(m)] if m.pages == [0, 0]));
        maps(dir.path(), &[(START, BLOCK), (START + 8 * BLOCK, BLOCK)]);
        let bodies = look(&mut probe);
        let kinds = |body: &Body| match body {
            Body::Freed { address } => ("freed", *address),
            Body::Allocated(range) => ("new", range.address),
            Body::Mapped(mapped) => ("mapped", mapped.address),
            other => panic!("{other:?}"),
        };
        let told: Vec<_> = bodies.iter().map(kinds).collect();
        let other = START + 8 * BLOCK;
        assert_eq!(told, [("freed", START), ("new", START), ("new", other), ("mapped", START), ("mapped", other)]);
    }

    #[test]
    fn a_pagemap_that_may_not_be_read_is_told_of_once() {
        let (dir, proc) = fixture();
        let watched = Watchlist::default();
        watched.set(vec![4711]);
        maps(dir.path(), &[(START, BLOCK)]);
        let mut probe = RangesProbe::new(proc, Clock::start(), watched);
        let mut told = 0;
        for hour in 1..4 {
            let mut out = Vec::new();
            probe.poll(Stamp(hour * 3_600_000_000_000), &mut out);
            told += out.iter().filter(|event| matches!(event.body, Body::Notice(_))).count();
        }
        assert_eq!(told, 1);
    }
}
