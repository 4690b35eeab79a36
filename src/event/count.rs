//! The catalogue of what the driver counts ([`super::UvmTick`]): exports and the metrics endpoint take names from here.

use super::TraceLevel;

/// One of the driver's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Count {
    /// Bytes host to device, exact.
    BytesHtod,
    /// Bytes device to host, exact.
    BytesDtoh,
    /// GPU faults after the driver's de-duplication, exact.
    GpuFaults,
    /// CPU faults, exact.
    CpuFaults,
    /// GPU fault records, duplicates included.
    GpuFaultsRaw,
    /// Fault batches.
    Batches,
    /// Thrashing detections.
    Thrashing,
    /// Throttling periods.
    Throttled,
    /// Remote mappings.
    RemoteMaps,
    /// Read duplications.
    ReadDuplicates,
    /// Read duplicates invalidated.
    ReadInvalidates,
    /// Faults that killed a context.
    FatalFaults,
    /// Events that the full ring lost.
    LostEvents,
    /// Bytes migrated, by direction and cause.
    MigratedBytes,
    /// Copies of migrations, by direction and cause.
    Migrations,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountInfo {
    /// Which.
    pub count: Count,
    /// Name as exported.
    pub name: &'static str,
    /// `bytes`, or what is counted.
    pub unit: &'static str,
    /// The least trace level that gives it.
    pub level: TraceLevel,
    /// One sentence.
    pub help: &'static str,
}

const fn row(count: Count, name: &'static str, unit: &'static str, level: TraceLevel, help: &'static str) -> CountInfo {
    CountInfo { count, name, unit, level, help }
}

use TraceLevel::{Counters, Faults, Full};

/// Every count, in the order of [`Count`].
pub const COUNTS: &[CountInfo] = &[
    row(Count::BytesHtod, "uvm_htod_bytes", "bytes", Counters, "bytes that the driver moved host to device, exact"),
    row(Count::BytesDtoh, "uvm_dtoh_bytes", "bytes", Counters, "bytes that the driver moved device to host, exact"),
    row(Count::GpuFaults, "uvm_gpu_faults", "faults", Counters, "GPU page faults without duplicates, exact"),
    row(Count::CpuFaults, "uvm_cpu_faults", "faults", Counters, "CPU page faults, exact"),
    row(Count::GpuFaultsRaw, "uvm_gpu_faults_raw", "faults", Faults, "GPU fault records, duplicates included"),
    row(Count::Batches, "uvm_fault_batches", "batches", Faults, "batches in which the driver served GPU faults"),
    row(Count::Thrashing, "uvm_thrashing", "events", Faults, "thrashing detections"),
    row(Count::Throttled, "uvm_throttled", "events", Faults, "throttling periods begun"),
    row(Count::RemoteMaps, "uvm_remote_maps", "events", Faults, "remote mappings made"),
    row(Count::ReadDuplicates, "uvm_read_duplicates", "events", Full, "pages duplicated for reading"),
    row(Count::ReadInvalidates, "uvm_read_invalidates", "events", Full, "read duplicates invalidated by a write"),
    row(Count::FatalFaults, "uvm_fatal_faults", "faults", Faults, "faults that killed a context"),
    row(Count::LostEvents, "uvm_lost_events", "events", Faults, "driver events that the full ring lost"),
    row(Count::MigratedBytes, "uvm_migrated_bytes", "bytes", Full, "bytes migrated, by direction and cause"),
    row(Count::Migrations, "uvm_migrations", "copies", Full, "copies of migrations, by direction and cause"),
];

impl Count {
    /// Its row in the catalogue.
    pub fn info(self) -> &'static CountInfo {
        &COUNTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_finds_its_own_row_and_names_are_unique() {
        for (i, row) in COUNTS.iter().enumerate() {
            assert_eq!(row.count.info(), row);
            assert!(COUNTS[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
