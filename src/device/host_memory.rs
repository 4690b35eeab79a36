//! How much memory the host can still give: what `/proc/meminfo` says, or less where a control group limits us.

use crate::units::Bytes;
use std::fs::read_to_string;
use std::path::Path;

/// The lower of `MemAvailable` and the rest of every control-group limit on the way to the root (v1 and v2).
/// Zero if the system tells nothing: then nothing is known to be free.
pub fn host_available() -> Bytes {
    let meminfo = read_to_string("/proc/meminfo").unwrap_or_default();
    let cgroups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let system = mem_available(&meminfo).unwrap_or(Bytes(0));
    group_paths(&cgroups).iter().filter_map(|path| group_rest(path)).fold(system, Bytes::min)
}

/// `MemAvailable` of the text of `/proc/meminfo`.
fn mem_available(meminfo: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1 << 10).map(Bytes)
}

/// The directories, under `/sys/fs/cgroup`, whose limits apply to a process with this `/proc/self/cgroup`. A container
/// sees its own group as the root but may read its path from outside, so all ancestors are tried and missing ones skipped.
fn group_paths(cgroups: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in cgroups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            list if list.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let ancestors = Path::new(path).ancestors().map(|at| at.to_string_lossy().into_owned());
        paths.extend(ancestors.map(|at| format!("{root}{}", at.trim_end_matches('/'))));
    }
    paths
}

/// What a group's limit leaves; `None` without a limit.
fn group_rest(directory: &str) -> Option<Bytes> {
    let read = |name: &str| read_to_string(format!("{directory}/{name}")).ok();
    let limit = read("memory.max").or_else(|| read("memory.limit_in_bytes"))?;
    let used = read("memory.current").or_else(|| read("memory.usage_in_bytes"))?;
    rest(&limit, &used, &read("memory.stat").unwrap_or_default())
}

/// Limit minus use; page cache that nobody has touched lately counts as free, as it does in `MemAvailable`.
fn rest(limit: &str, used: &str, stat: &str) -> Option<Bytes> {
    let limit: u64 = limit.trim().parse().ok()?;
    let used: u64 = used.trim().parse().ok()?;
    let cache = ["total_inactive_file ", "inactive_file "]
        .iter()
        .find_map(|name| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()))
        .unwrap_or(0u64);
    Some(Bytes(limit.saturating_sub(used.saturating_sub(cache))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kib() {
        let text = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(mem_available(text), Some(Bytes::mib(2)));
        assert_eq!(mem_available("MemTotal: 16000000 kB\n"), None);
        assert_eq!(mem_available("MemAvailable: lots kB\n"), None);
    }

    #[test]
    fn the_limits_of_all_ancestors_apply() {
        assert_eq!(
            group_paths("0::/user.slice/job\n"),
            ["/sys/fs/cgroup/user.slice/job", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
        );
        assert_eq!(
            group_paths("9:cpu,cpuacct:/a\n4:memory:/docker/x\nnonsense\n"),
            ["/sys/fs/cgroup/memory/docker/x", "/sys/fs/cgroup/memory/docker", "/sys/fs/cgroup/memory"]
        );
    }

    #[test]
    fn a_limit_leaves_what_is_not_used() {
        assert_eq!(rest("1000\n", "300\n", ""), Some(Bytes(700)));
        assert_eq!(rest("1000\n", "300\n", "anon 5\ninactive_file 100\n"), Some(Bytes(800)));
        assert_eq!(rest("1000\n", "300\n", "inactive_file 1\ntotal_inactive_file 100\n"), Some(Bytes(800)));
        assert_eq!(rest("max\n", "300\n", ""), None);
        assert_eq!(rest("100\n", "300\n", ""), Some(Bytes(0)));
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(host_available() > Bytes::mib(1));
    }
}
