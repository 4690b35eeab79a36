//! Steps of a workload on the simulated machine: touches and transfers of every kind of memory.

use super::copy::between_gpus;
use super::gpu::Kernel;
use super::lanes::Lanes;
use super::order::Order;
use super::side::Side;
use super::windows::Load;
use super::world::World;
use crate::device::{Access, Buffer, DeviceError, ELEMENT, Part, Pattern, Span, Touch, Touched, Transfer};
use crate::event::{MemoryKind, Proc};
use crate::units::{BLOCK, Nanos, PAGE, Stamp};

fn misuse<T>(text: impl Into<String>) -> Result<T, DeviceError> {
    Err(DeviceError::Misuse(text.into()))
}

fn check(buffer: Buffer, touch: &Touch) -> Result<(), DeviceError> {
    let end = touch.first.checked_add(touch.elements);
    if end.is_none_or(|end| end > buffer.bytes.0 / ELEMENT) {
        return misuse(format!("the touch goes beyond the buffer's {}", buffer.bytes));
    }
    if touch.access == Access::Add && touch.addends.is_none() {
        return misuse("an addition needs two addends");
    }
    if touch.elements == 0 || touch.count > touch.elements {
        return misuse(format!("cannot make {} accesses to {} elements", touch.count, touch.elements));
    }
    let divides =
        |bytes: u64| bytes > 0 && bytes.is_multiple_of(ELEMENT) && touch.elements.is_multiple_of(bytes / ELEMENT);
    match touch.pattern {
        Pattern::Strided { stride_bytes } if !divides(stride_bytes) => {
            misuse(format!("a stride of {stride_bytes} bytes does not divide the range into whole elements"))
        }
        _ => Ok(()),
    }
}

impl World {
    fn side(&self, of: Proc) -> Result<Side, DeviceError> {
        match Side::of(of).filter(|side| self.topology.has(*side)) {
            Some(side) => Ok(side),
            None => misuse(format!("the simulated machine has {} GPU(s), there is no {of}", self.topology.gpus)),
        }
    }

    /// Touches a buffer.
    pub fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        self.known(buffer)?;
        let on = self.side(on)?;
        check(buffer, touch)?;
        let begin = self.begin_step();
        if on.is_cpu() {
            self.cpu_touch(buffer, touch);
        } else {
            self.gpu_touch(buffer, on, touch);
        }
        let gpu = (!on.is_cpu()).then(|| self.gpu_time(begin));
        let span = Span { begin, end: Stamp(self.now()), gpu };
        // The simulator holds no data, so there is nothing that it could claim to have checked.
        Ok(Touched { span, check: None })
    }

    /// Time between the GPU's own marks: the span without the launch, of which the GPU itself sees a quarter.
    pub(super) fn gpu_time(&self, begin: Stamp) -> Nanos {
        let outside = (self.profile.gpu_cost.launch_us * 750.0) as u64;
        Nanos(Stamp(self.now()).since(begin).0.saturating_sub(outside))
    }

    fn cpu_touch(&mut self, buffer: Buffer, touch: &Touch) {
        if buffer.kind == MemoryKind::Managed {
            let order = Order::of(touch);
            self.cpu_touch_managed(buffer.id, &order, touch);
        } else {
            self.spend(self.cpu_work_us(touch), Load::default());
        }
    }

    fn gpu_touch(&mut self, buffer: Buffer, on: Side, touch: &Touch) {
        self.spend(self.profile.gpu_cost.launch_us, Load { busy: true, ..Load::default() });
        let lanes = Lanes::of(touch, self.profile.arrival.multiprocessors as u64);
        let remote = match buffer.kind {
            MemoryKind::Managed => {
                for addend in touch.addends.into_iter().flatten() {
                    self.gpu_faults(Kernel { on, home: self.home(addend.id), access: Access::Read }, &lanes);
                }
                self.gpu_faults(Kernel { on, home: self.home(buffer.id), access: touch.access }, &lanes);
                self.remote_share(buffer.id, on, touch)
            }
            MemoryKind::ZeroCopy => Remote { host: 1.0, peer: None },
            MemoryKind::Explicit | MemoryKind::Pageable => Remote::default(),
        };
        self.access(on, touch, lanes.coalesced, remote);
    }

    /// The kernel's access proper, shares of it over links.
    fn access(&mut self, on: Side, touch: &Touch, coalesced: bool, remote: Remote) {
        let unit = match touch.pattern {
            Pattern::Strided { stride_bytes } => self.profile.link.sector_bytes.min(stride_bytes.max(ELEMENT)),
            _ if coalesced => ELEMENT,
            _ => self.profile.link.sector_bytes.max(ELEMENT),
        };
        let one_way = touch.count as f64 * unit as f64;
        let (reads, writes) = (touch.access != Access::Write, touch.access != Access::Read);
        // An addition reads two arrays and writes a third.
        let ways = f64::from(u8::from(reads) * if touch.access == Access::Add { 2 } else { 1 } + u8::from(writes));
        let arithmetic_us =
            touch.count as f64 * f64::from(touch.work.saturating_sub(1)) / self.profile.gpu_cost.giga_ops_per_s / 1e3;
        self.spend(arithmetic_us, Load { busy: true, ..Load::default() });
        let peer_share = remote.peer.map_or(0.0, |(_, share)| share);
        let resident_us = one_way * (1.0 - remote.host - peer_share) * ways / self.profile.gpu_cost.resident_gb_s / 1e3;
        self.spend(resident_us, Load { busy: true, ..Load::default() });
        self.spend(self.lone_us(touch, remote.host, peer_share), Load { busy: true, ..Load::default() });
        let crossing = |yes: bool, bytes: f64| if yes { bytes as u64 } else { 0 };
        if remote.host > 0.0 && touch.count > 0 {
            let bytes = one_way * remote.host;
            let us = self.profile.gpu_cost.remote_latency_us + bytes / self.profile.link.remote_gb_s / 1e3;
            let (htod, dtoh) = (crossing(reads, bytes), crossing(writes, bytes));
            self.spend(us, Load { htod, dtoh, busy: true, ..Load::default() });
        }
        let link = self.profile.peer;
        if let (Some((peer, share)), Some(link)) = (remote.peer.filter(|_| touch.count > 0), link) {
            let bytes = one_way * share;
            let us = self.profile.gpu_cost.remote_latency_us + bytes / link.remote_gb_s / 1e3;
            let (read_in, read_out) = between_gpus(peer, on, crossing(reads, bytes));
            let (written_in, written_out) = between_gpus(on, peer, crossing(writes, bytes));
            let (peer_in, peer_out) = (read_in + written_in, read_out + written_out);
            self.spend(us, Load { peer_in, peer_out, busy: true, ..Load::default() });
        }
    }

    /// What a lone warp waits for besides rates: it goes through its pages one access after the other. Its first page is
    /// part of the launch. That of host memory is not known.
    fn lone_us(&self, touch: &Touch, host: f64, peer: f64) -> f64 {
        if touch.pattern != Pattern::OneWarp {
            return 0.0;
        }
        let pages = ((touch.count * ELEMENT).div_ceil(PAGE)).saturating_sub(1) as f64;
        let at_peer = self.profile.peer.map_or(0.0, |link| link.lone_page_us);
        pages * ((1.0 - host - peer) * self.profile.gpu_cost.lone_page_us + peer * at_peer)
    }

    /// Shares of the touched pages of a buffer that do not live on the GPU that touched them.
    fn remote_share(&self, buffer: u32, on: Side, touch: &Touch) -> Remote {
        let home = self.home(buffer);
        let Some(managed) = self.ranges.get(&home.range) else { return Remote::default() };
        let page = |element: u64| u64::from(home.first) + element * ELEMENT / PAGE;
        let (first, last) = (page(touch.first), page(touch.first + touch.elements - 1));
        let per_block = BLOCK / PAGE;
        let (mut here, mut there) = (0, 0);
        let mut at_peer = (None, 0);
        for block in first / per_block..=last / per_block {
            let Some(of) = managed.blocks.get(block as usize) else { continue };
            let begin = first.max(block * per_block) - block * per_block;
            let end = (last + 1).min((block + 1) * per_block) - block * per_block;
            let pages = begin as usize..(end as usize).min(of.len);
            here += of.on.get(on).resident.count_in(pages.clone());
            let remote = of.on.get(on).read - of.on.get(on).resident;
            there += remote.count_in(pages.clone());
            // What is on the host as well as on a peer is read from the peer, as it would be copied.
            for peer in self.topology.sides().filter(|side| !side.is_cpu() && *side != on) {
                let pages = (remote & of.on.get(peer).resident).count_in(pages.clone());
                if pages > 0 {
                    at_peer = (Some(peer), at_peer.1 + pages);
                }
            }
        }
        let of_all = |pages| pages as f64 / (here + there).max(1) as f64;
        let peer = at_peer.0.map(|peer| (peer, of_all(at_peer.1.min(there))));
        Remote { host: of_all(there - at_peer.1.min(there)), peer }
    }

    /// Moves a part of a buffer.
    pub fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        self.known(buffer)?;
        buffer.has(part)?;
        let to = self.side(to)?;
        let link = self.profile.link;
        let begin = self.begin_step();
        match (how, buffer.kind) {
            (Transfer::Prefetch, MemoryKind::Managed) => self.prefetch(buffer.id, part, to),
            (Transfer::Copy, MemoryKind::Explicit) => self.copy_part(part, to, link.pinned_gb_s),
            (Transfer::Copy, MemoryKind::Pageable) => self.copy_part(part, to, link.pageable_gb_s),
            (Transfer::Prefetch, kind) => {
                return misuse(format!("{kind} memory cannot be prefetched: it does not migrate"));
            }
            (Transfer::Copy, kind) => return misuse(format!("{kind} memory has one part: there is nothing to copy")),
        }
        Ok(Span { begin, end: Stamp(self.now()), gpu: Some(self.gpu_time(begin)) })
    }

    fn copy_part(&mut self, part: Part, to: Side, gb_s: f64) {
        self.spend(self.profile.cpu_cost.copy_us, Load::default());
        let bytes = part.elements * ELEMENT;
        let (htod, dtoh) = if to.is_cpu() { (0, bytes) } else { (bytes, 0) };
        self.spend(bytes as f64 / gb_s / 1e3, Load { htod, dtoh, ..Load::default() });
    }
}

/// Shares of a kernel's accesses that go over links, of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Remote {
    /// To the host's memory.
    host: f64,
    /// To the memory of another GPU, and of which.
    peer: Option<(Side, f64)>,
}
