//! The sums of one window.

use super::batches::Ended;
use crate::event::{AccessType, BlockActivity, Cause, LastMove, Migrated, Proc, RemoteCause, UvmEvents};
use crate::probe::uvm::sites::Sites;
use crate::units::{BLOCK, PAGE};
use std::collections::HashMap;

/// Blocks over which one migration is spread at most. The driver's copies stay within one block; the bound keeps a wrong
/// length from filling memory.
const MAX_BLOCKS_PER_COPY: u64 = 512;

/// What the present window holds.
#[derive(Clone, Debug, Default)]
pub struct Window {
    touched: bool,
    /// Another GPU than the first has been seen: from here on blocks tell theirs.
    several: bool,
    sums: UvmEvents,
    batch_faults: Distribution,
    batch_latency: Distribution,
    copy_bytes: Distribution,
    blocks: Blocks,
    sites: Sites,
}

impl Window {
    /// The plain sums, to add to: something happened.
    pub fn sums(&mut self) -> &mut UvmEvents {
        self.touched = true;
        &mut self.sums
    }

    pub fn cpu_fault(&mut self, address: u64) {
        self.sums().cpu_faults += 1;
        add(&mut self.blocks.at(address).cpu_faults, 1);
    }

    pub fn cpu_site(&mut self, pid: u32, tid: u32, pc: u64) {
        self.touched = true;
        self.sites.add(pid, tid, pc);
    }

    pub fn gpu_fault(&mut self, access: AccessType, gpu: Proc, address: u64) {
        bump(&mut self.sums().gpu_faults, access, 1);
        self.several |= is_other(gpu);
        let block = self.blocks.at(address);
        add(&mut block.gpu_faults, 1);
        if let Proc::Gpu(n) = gpu {
            block.faulted_by |= 1u32.checked_shl(u32::from(n)).unwrap_or(0);
        }
    }

    pub fn batch_began(&mut self) {
        self.sums().batches += 1;
    }

    pub fn batch_ended(&mut self, batch: Ended) {
        self.touched = true;
        self.batch_faults.add(batch.faults);
        if let Some(ns) = batch.latency {
            self.batch_latency.add(ns);
        }
    }

    pub fn migration(&mut self, copy: Migrated, address: u64) {
        add_migrated(&mut self.sums().migrated, copy);
        self.copy_bytes.add(copy.bytes);
        self.several |= is_other(copy.src) || is_other(copy.dst);
        let end = address.saturating_add(copy.bytes).min((address / BLOCK + MAX_BLOCKS_PER_COPY).saturating_mul(BLOCK));
        let mut from = address;
        while from < end {
            let to = (from / BLOCK + 1).saturating_mul(BLOCK).min(end);
            let pages = (to - from).div_ceil(PAGE) as u32;
            let block = self.blocks.at(from);
            let side = if copy.dst == Proc::Cpu { &mut block.to_cpu_pages } else { &mut block.to_gpu_pages };
            add(side, pages);
            block.last = Some(follow(block.last, &copy, pages));
            match copy.cause {
                Cause::Fault => add(&mut block.by_fault, pages),
                Cause::Prefetch => add(&mut block.by_prefetch, pages),
                Cause::User => add(&mut block.by_user, pages),
                Cause::Eviction => add(&mut block.by_eviction, pages),
                Cause::AccessCounters | Cause::Unknown => {}
            }
            from = to;
        }
    }

    /// Pages have come to live on several processors. The driver reports within one block.
    pub fn duplicated(&mut self, address: u64, bytes: u64) {
        self.sums().read_duplicates += 1;
        add(&mut self.blocks.at(address).duplicated, pages(bytes));
    }

    /// Copies of pages went because one side wrote.
    pub fn invalidated(&mut self, address: u64, bytes: u64) {
        self.sums().read_invalidates += 1;
        add(&mut self.blocks.at(address).invalidated, pages(bytes));
    }

    pub fn thrashing(&mut self, address: u64) {
        self.sums().thrashing += 1;
        add(&mut self.blocks.at(address).thrash, 1);
    }

    pub fn throttled(&mut self, address: u64) {
        self.sums().throttled += 1;
        add(&mut self.blocks.at(address).thrash, 1);
    }

    pub fn remote_map(&mut self, cause: RemoteCause, address: u64) {
        bump(&mut self.sums().remote_maps, cause, 1);
        let block = self.blocks.at(address);
        add(&mut block.thrash, 1);
        add(&mut block.remote_maps, 1);
    }

    /// Ends the window and begins an empty one; `None` if nothing happened.
    pub fn take(&mut self) -> Option<UvmEvents> {
        if !std::mem::take(&mut self.touched) {
            return None;
        }
        let mut sums = std::mem::take(&mut self.sums);
        sums.gpu_faults.sort_unstable();
        sums.remote_maps.sort_unstable();
        sums.lost.sort_unstable();
        sums.migrated.sort_unstable_by_key(migration_order);
        sums.batch_faults = self.batch_faults.take();
        sums.batch_latency_ns = self.batch_latency.take();
        sums.copy_bytes = self.copy_bytes.take();
        sums.blocks = self.blocks.take();
        if !self.several {
            sums.blocks.iter_mut().for_each(|block| (block.last, block.faulted_by) = (None, 0));
        }
        (sums.cpu_sites, sums.cpu_sites_elsewhere) = self.sites.take();
        Some(sums)
    }
}

/// The order in which migrations are listed.
pub fn migration_order(m: &Migrated) -> (Proc, Proc, Cause) {
    (m.src, m.dst, m.cause)
}

/// Adds copies to the entry of their direction and cause.
pub fn add_migrated(to: &mut Vec<Migrated>, copy: Migrated) {
    match to.iter_mut().find(|m| migration_order(m) == migration_order(&copy)) {
        Some(same) => {
            same.bytes = same.bytes.saturating_add(copy.bytes);
            same.copies += copy.copies;
        }
        None => to.push(copy),
    }
}

/// Adds to the entry of a key in a short list.
pub fn bump<K: PartialEq>(list: &mut Vec<(K, u64)>, key: K, by: u64) {
    match list.iter_mut().find(|(k, _)| *k == key) {
        Some((_, count)) => *count += by,
        None => list.push((key, by)),
    }
}

/// A GPU other than the session's own.
fn is_other(side: Proc) -> bool {
    !matches!(side, Proc::Cpu | Proc::Gpu(0))
}

/// A block's last copies when one more has followed.
fn follow(last: Option<LastMove>, copy: &Migrated, pages: u32) -> LastMove {
    match last {
        Some(last) if last.dst == copy.dst => {
            LastMove { src: last.src.filter(|src| *src == copy.src), pages: last.pages.saturating_add(pages), ..last }
        }
        _ => LastMove { src: Some(copy.src), dst: copy.dst, pages },
    }
}

fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE)).unwrap_or(u32::MAX)
}

fn add(count: &mut u32, by: u32) {
    *count = count.saturating_add(by);
}

/// How often each value came.
#[derive(Clone, Debug, Default)]
struct Distribution(HashMap<u64, u64>);

impl Distribution {
    fn add(&mut self, value: u64) {
        *self.0.entry(value).or_insert(0) += 1;
    }

    /// Empties it into ascending pairs, keeping its memory.
    fn take(&mut self) -> Vec<(u64, u64)> {
        let mut pairs: Vec<_> = self.0.drain().collect();
        pairs.sort_unstable();
        pairs
    }
}

/// Activity by block. The block of the record before is tried first: neighbours come together.
#[derive(Clone, Debug, Default)]
struct Blocks {
    rows: Vec<BlockActivity>,
    index: HashMap<u64, usize>,
    last: usize,
}

impl Blocks {
    fn at(&mut self, address: u64) -> &mut BlockActivity {
        let block = address / BLOCK;
        if self.rows.get(self.last).is_none_or(|row| row.block != block) {
            self.last = *self.index.entry(block).or_insert(self.rows.len());
            if self.last == self.rows.len() {
                self.rows.push(BlockActivity { block, ..BlockActivity::default() });
            }
        }
        &mut self.rows[self.last]
    }

    /// Empties it into rows by ascending block, keeping its memory.
    fn take(&mut self) -> Vec<BlockActivity> {
        self.index.clear();
        let mut rows = self.rows.clone();
        self.rows.clear();
        rows.sort_unstable_by_key(|row| row.block);
        rows
    }
}
