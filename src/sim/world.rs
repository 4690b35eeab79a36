//! The one simulated machine: its clock, its memory, its managed ranges.

use super::block::{Block, Policy};
use super::home::{Home, Shared};
use super::params::Params;
use super::profile::Profile;
use super::rng::Rng;
use super::side::{Each, Side, Topology};
use super::trace::Trace;
use super::windows::{Load, Windows};
use crate::device::{Buffer, DeviceError, MemoryFree};
use crate::event::MemoryKind;
use crate::units::{BLOCK, Bytes, PAGE, Stamp};
use std::collections::{BTreeMap, VecDeque};

/// Address of the first range.
const BASE: u64 = 0x7f00_0000_0000;

/// GPU memory that explicit allocations leave to managed blocks, so that a fault can always be served.
const KEPT_FOR_BLOCKS: u64 = 64 << 20;

/// A block by its range and its number within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// The range's number.
    pub range: u32,
    /// From 0.
    pub index: usize,
}

/// A managed range.
#[derive(Clone, Debug)]
pub struct Managed {
    /// First byte.
    pub address: u64,
    /// Advice in force.
    pub policy: Policy,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// Everything there is. Time passes only in [`World::spend`]. A clone is a machine of its own with the same past.
#[derive(Clone, Debug)]
pub struct World {
    /// The machine.
    pub profile: Profile,
    /// The driver's settings.
    pub params: Params,
    /// The processors and their links.
    pub topology: Topology,
    /// What the driver tells.
    pub trace: Trace,
    /// What a sampler sees.
    pub windows: Windows,
    /// Seeded.
    pub rng: Rng,
    /// Number of the last fault batch.
    pub batch: u32,
    /// Managed ranges by number: that of the buffer if it has the range for itself.
    pub ranges: BTreeMap<u32, Managed>,
    /// Where each managed buffer lies.
    pub(super) homes: BTreeMap<u32, Home>,
    /// Takes the next small buffers.
    pub(super) shared: Option<Shared>,
    /// Pins that will run out, in that order: when (ns), where.
    pub pins: VecDeque<(u64, BlockId)>,
    /// Blocks with memory on each GPU, oldest arrival of data first.
    pub(super) chunks: Each<BTreeMap<u64, BlockId>>,
    buffers: BTreeMap<u32, Buffer>,
    explicit: u64,
    now: u64,
    /// Factor of the running step's times.
    pace: f64,
    /// Factor of the times of work that runs at the same time as other work.
    pub(super) together: f64,
    next_id: u32,
    next_address: u64,
    next_chunk: u64,
}

impl World {
    /// A machine on which nothing has happened, at time 0.
    pub fn new(profile: Profile, params: Params) -> Self {
        Self {
            rng: Rng::new(profile.seed),
            params,
            topology: profile.topology(),
            profile,
            trace: Trace::new(params.ring_entries),
            windows: Windows::default(),
            batch: 0,
            ranges: BTreeMap::new(),
            homes: BTreeMap::new(),
            shared: None,
            pins: VecDeque::new(),
            chunks: Each::default(),
            buffers: BTreeMap::new(),
            explicit: 0,
            now: 0,
            pace: 1.0,
            together: 1.0,
            next_id: 0,
            next_address: BASE,
            next_chunk: 0,
        }
    }

    /// The virtual time, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Begins a step: chooses how much its times differ from the nominal ones.
    pub fn begin_step(&mut self) -> Stamp {
        self.pace = 1.0 + self.profile.jitter.step * self.rng.swing();
        Stamp(self.now)
    }

    /// Lets `us` of nominal time pass under an even load.
    pub fn spend(&mut self, us: f64, load: Load) {
        let ns = (us * self.pace * self.together * 1000.0).round().max(0.0) as u64;
        self.pass_until(self.now.saturating_add(ns), load);
    }

    /// Lets time pass until `to`; earlier moments are ignored.
    pub fn pass_until(&mut self, to: u64, load: Load) {
        let to = to.max(self.now);
        let vram = self.vram_used(Side::GPU);
        self.windows.pass(self.now, to, load, vram);
        self.trace.pass(to);
        self.now = to;
    }

    /// Memory of a GPU in use, bytes. Explicit memory is on the first one.
    pub fn vram_used(&self, gpu: Side) -> u64 {
        let explicit = if gpu == Side::GPU { self.explicit } else { 0 };
        (self.profile.gpu.reserved_mib << 20) + explicit + self.chunks.get(gpu).len() as u64 * BLOCK
    }

    /// Memory of each GPU, bytes.
    pub fn vram_total(&self) -> u64 {
        self.profile.gpu.vram_mib << 20
    }

    /// Memory that can be had. Host memory is the profile's less what was allocated.
    pub fn memory(&self) -> MemoryFree {
        let host: u64 = self.buffers.values().map(|b| b.bytes.0).sum();
        MemoryFree {
            vram_free: Bytes(self.vram_total().saturating_sub(self.vram_used(Side::GPU))),
            vram_total: Bytes(self.vram_total()),
            host_available: Bytes((self.profile.host.memory_mib << 20).saturating_sub(host)),
        }
    }

    /// Allocates; managed blocks make room for explicit memory.
    pub fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        if bytes.0 == 0 {
            return Err(DeviceError::Misuse("an allocation needs at least one byte".to_owned()));
        }
        let host = self.memory().host_available;
        if bytes > host {
            return Err(DeviceError::NoRoom { wanted: bytes, free: host });
        }
        if matches!(kind, MemoryKind::Explicit | MemoryKind::Pageable) {
            let taken = (self.profile.gpu.reserved_mib << 20) + self.explicit + KEPT_FOR_BLOCKS;
            let free = Bytes(self.vram_total().saturating_sub(taken));
            if bytes > free {
                return Err(DeviceError::NoRoom { wanted: bytes, free });
            }
            self.make_room(Side::GPU, bytes.0, None);
            self.explicit += bytes.0;
        }
        let id = self.new_id();
        let address = match kind {
            MemoryKind::Managed => self.move_in(id, bytes.0),
            _ => self.new_address(bytes.0),
        };
        let buffer = Buffer { id, address, bytes, kind };
        self.buffers.insert(id, buffer);
        Ok(buffer)
    }

    /// A number that no buffer and no range has had.
    pub(super) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Addresses for so many bytes, from a multiple of 2 MiB.
    pub(super) fn new_address(&mut self, bytes: u64) -> u64 {
        let address = self.next_address;
        self.next_address += bytes.div_ceil(BLOCK) * BLOCK;
        address
    }

    /// All buffers, in the order of their allocation.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.values()
    }

    /// Gives memory back.
    pub fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.known(buffer)?;
        self.buffers.remove(&buffer.id);
        if matches!(buffer.kind, MemoryKind::Explicit | MemoryKind::Pageable) {
            self.explicit -= buffer.bytes.0;
        }
        self.move_out(buffer.id);
        Ok(())
    }

    /// Loses all buffers, as a reset of the context does.
    pub fn reset(&mut self) {
        self.ranges.clear();
        self.homes.clear();
        self.shared = None;
        self.buffers.clear();
        self.chunks = Each::default();
        self.pins.clear();
        self.explicit = 0;
    }

    /// An error unless the buffer is one of ours.
    pub fn known(&self, buffer: Buffer) -> Result<(), DeviceError> {
        match self.buffers.get(&buffer.id) {
            Some(known) if *known == buffer => Ok(()),
            _ => Err(DeviceError::Misuse(format!("buffer {} is not allocated", buffer.id))),
        }
    }

    /// Takes a block out to work on it; [`World::put`] brings it back. An empty one if there is no such block.
    pub fn take(&mut self, id: BlockId) -> Block {
        let range = self.ranges.get_mut(&id.range);
        range.and_then(|r| r.blocks.get_mut(id.index)).map(std::mem::take).unwrap_or_default()
    }

    /// Brings a block back.
    pub fn put(&mut self, id: BlockId, block: Block) {
        if let Some(place) = self.ranges.get_mut(&id.range).and_then(|r| r.blocks.get_mut(id.index)) {
            *place = block;
        }
    }

    /// Policy of a block's range.
    pub fn policy(&self, id: BlockId) -> Policy {
        self.ranges.get(&id.range).map(|r| r.policy).unwrap_or_default()
    }

    /// Address of a page of a block.
    pub fn address(&self, id: BlockId, page: usize) -> u64 {
        let base = self.ranges.get(&id.range).map_or(BASE, |r| r.address);
        base + id.index as u64 * BLOCK + page as u64 * PAGE
    }

    /// Gives a block memory on a GPU, or moves it to the young end of the eviction order if it has some.
    pub fn use_chunk(&mut self, id: BlockId, block: &mut Block, gpu: Side) {
        match block.chunk.of(gpu).take() {
            Some(old) => {
                self.chunks.of(gpu).remove(&old);
            }
            None => self.make_room(gpu, BLOCK, Some(id)),
        }
        self.chunks.of(gpu).insert(self.next_chunk, id);
        *block.chunk.of(gpu) = Some(self.next_chunk);
        self.next_chunk += 1;
    }

    /// Gives up a block's memory on each GPU where no page of it lives any more.
    pub fn drop_empty_chunks(&mut self, block: &mut Block) {
        for gpu in self.topology.sides().filter(|side| !side.is_cpu()) {
            if block.on.get(gpu).resident.is_empty()
                && let Some(chunk) = block.chunk.of(gpu).take()
            {
                self.chunks.of(gpu).remove(&chunk);
            }
        }
    }

    fn make_room(&mut self, gpu: Side, bytes: u64, but: Option<BlockId>) {
        for _ in 0..self.chunks.get(gpu).len() {
            let full = self.vram_used(gpu) + bytes > self.vram_total();
            let victim = self.chunks.get(gpu).values().copied().find(|id| Some(*id) != but);
            let Some(victim) = victim.filter(|_| full) else { return };
            self.evict(victim, gpu);
        }
    }
}
