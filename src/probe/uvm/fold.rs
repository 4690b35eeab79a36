//! Sums over a window of records, so that millions a second become one event every 10 ms.

mod batches;
#[cfg(test)]
mod tests;
mod window;

use super::Record;
use crate::event::{EventTotals, Migrated, TraceLevel, UvmEvents};
use batches::Batches;
use window::{Window, add_migrated};

/// Folds records into windows and running totals. Nothing is allocated for a record, except for a block, size or
/// latency that its window has not seen before.
#[derive(Clone, Debug)]
pub struct TickFold {
    level: TraceLevel,
    totals: EventTotals,
    migrated: Vec<Migrated>,
    batches: Batches,
    window: Window,
}

impl Default for TickFold {
    /// A fold at level faults.
    fn default() -> Self {
        Self {
            level: TraceLevel::Faults,
            totals: EventTotals::default(),
            migrated: Vec::new(),
            batches: Batches::default(),
            window: Window::default(),
        }
    }
}

impl TickFold {
    /// Adds one record to the window and to the totals.
    pub fn add(&mut self, record: &Record) {
        match *record {
            Record::CpuFault { address, .. } => self.window.cpu_fault(address),
            Record::GpuFault { access, gpu, address, gpu_time, batch, .. } => {
                self.totals.gpu_faults_raw += 1;
                self.window.gpu_fault(access, gpu, address);
                let seen = self.batches.fault(gpu, batch, gpu_time);
                if seen.new {
                    self.totals.batches += 1;
                    self.window.batch_began();
                }
                if let Some(batch) = seen.pushed_out {
                    self.window.batch_ended(batch);
                }
            }
            Record::Replay { gpu, batch, gpu_time, .. } => {
                if let Some(batch) = self.batches.replay(gpu, batch, gpu_time) {
                    self.window.batch_ended(batch);
                }
            }
            Record::Migration { cause, src, dst, address, bytes, .. } => {
                let copy = Migrated { src, dst, cause, bytes, copies: 1 };
                add_migrated(&mut self.migrated, copy);
                self.window.migration(copy, address);
            }
            Record::Thrashing { address, .. } => {
                self.totals.thrashing += 1;
                self.window.thrashing(address);
            }
            Record::ThrottleStart { address, .. } => {
                self.totals.throttled += 1;
                self.window.throttled(address);
            }
            Record::RemoteMap { cause, address, .. } => {
                self.totals.remote_maps += 1;
                self.window.remote_map(cause, address);
            }
            Record::ReadDuplicate { address, bytes, .. } => self.window.duplicated(address, bytes),
            Record::ReadInvalidate { address, bytes, .. } => self.window.invalidated(address, bytes),
            Record::Fatal { .. } => self.window.sums().fatal += 1,
            Record::ThrottleEnd { .. } => {}
        }
    }

    /// Notes where a CPU fault, which is added too, comes from.
    pub fn cpu_site(&mut self, pid: u32, tid: u32, pc: u64) {
        self.window.cpu_site(pid, tid, pc);
    }

    /// Notes that the full ring lost `count` events of a type (the driver's event type number).
    pub fn lost(&mut self, event_type: u8, count: u64) {
        if count > 0 {
            self.totals.lost += count;
            window::bump(&mut self.window.sums().lost, event_type, count);
        }
    }

    /// Notes an entry that made no sense.
    pub fn malformed(&mut self) {
        self.window.sums().malformed += 1;
    }

    /// Ends the window: its sums, or `None` if nothing happened in it. Batches that wait for their replay carry over.
    pub fn take(&mut self) -> Option<UvmEvents> {
        self.window.take()
    }

    /// Sums since creation. `migrated` is there only at level full, which alone delivers migrations.
    pub fn totals(&self) -> EventTotals {
        let mut totals = self.totals.clone();
        totals.migrated = (self.level == TraceLevel::Full).then(|| {
            let mut migrated = self.migrated.clone();
            migrated.sort_unstable_by_key(window::migration_order);
            migrated
        });
        totals
    }

    /// Says at which level the records that follow are collected.
    pub fn set_level(&mut self, level: TraceLevel) {
        self.level = level;
    }
}
