//! The simulated machine as a device to command.

use super::side::Side;
use super::world::World;
use crate::device::{Buffer, Device, DeviceError, Lane, MemoryFree, Part, Recovery, Span, Touch, Touched, Transfer};
use crate::event::{Advice, Can, Caps, MemoryKind, Proc};
use crate::units::{Bytes, Stamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The world that the device, the tracer and the probes share.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub(super) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    /// The world. A panic elsewhere does not make it unusable: it is consistent between calls.
    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The simulated device. A call takes virtual time, and hardly any real time.
pub struct SimDevice {
    pub(super) world: Shared,
    caps: Caps,
}

impl SimDevice {
    pub(super) fn new(world: Shared) -> Self {
        let gpus = u32::from(world.lock().topology.gpus);
        let no = |why: &str| Can::No(why.to_owned());
        let caps = Caps {
            managed: Can::Yes,
            concurrent: Can::Yes,
            prefetch: Can::Yes,
            advise: Can::Yes,
            pageable: no("the simulated GPU cannot read malloc memory (pageableMemoryAccess is 0)"),
            host_page_tables: no("the simulated GPU is behind PCIe and has its own page tables"),
            zero_copy: Can::Yes,
            trace: Can::Yes,
            gpus,
        };
        Self { world, caps }
    }

    /// Lets virtual time pass idly until `to`, for instance while the workload is paused; earlier moments are ignored.
    pub fn advance_to(&mut self, to: Stamp) {
        self.world.lock().pass_until(to.0, Default::default());
    }
}

impl Device for SimDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn now(&self) -> Stamp {
        Stamp(self.world.lock().now())
    }

    fn memory(&mut self) -> Result<MemoryFree, DeviceError> {
        Ok(self.world.lock().memory())
    }

    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        self.world.lock().alloc(kind, bytes)
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.world.lock().free(buffer)
    }

    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError> {
        let mut world = self.world.lock();
        world.known(buffer)?;
        if buffer.kind != MemoryKind::Managed {
            return Err(DeviceError::Misuse(format!("advice is for managed memory, not for {}", buffer.kind)));
        }
        let gpu = advice.gpu().map_or(Some(Side::GPU), |n| Side::of(Proc::Gpu(n)));
        let gpu = gpu.filter(|gpu| world.topology.sides().any(|side| side == *gpu));
        let gpu = gpu.ok_or_else(|| DeviceError::Misuse(format!("{advice}: the simulated machine has one GPU")))?;
        world.advise(buffer, advice, set, gpu);
        Ok(())
    }

    fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        self.world.lock().transfer(buffer, part, how, to)
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        self.world.lock().touch(buffer, on, touch)
    }

    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        self.world.lock().overlap(lanes)
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        self.world.lock().reset();
        Ok(Recovery::Verified)
    }
}
