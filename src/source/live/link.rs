//! Measuring what the link carries when explicit copies have it to themselves.

use super::{Worker, observe};
use crate::device::{Buffer, DeviceError, Transfer};
use crate::event::{Body, Level, MemoryKind, Metric, Proc, Reading, Sample};
use crate::units::{Bytes, Nanos};
use crate::workload::check_footprint;

/// Size of a copy: large enough that its beginning does not count.
const COPY: Bytes = Bytes::mib(64);
/// Copies each way go on for this long, the two directions in turn.
const LASTS: Nanos = Nanos::millis(1_000);

impl Worker {
    /// Measures, and says the best copy of each direction as a reading, or what was in the way.
    pub(super) fn probe_link(&mut self) {
        match self.copies() {
            Ok(readings) => self.emit(Body::Sample(Sample { source: "link probe".to_owned(), window: None, readings })),
            Err(line) => self.say(Level::Error, "link", format!("the link's ceiling cannot be measured: {line}")),
        }
    }

    fn copies(&mut self) -> Result<Vec<(Metric, Reading)>, String> {
        let free = self.live.device.memory().map_err(|e| e.to_string())?;
        check_footprint(COPY, MemoryKind::Explicit, &free, false).map_err(|e| e.to_string())?;
        let buffer = self.live.device.alloc(MemoryKind::Explicit, COPY).map_err(|e| e.to_string())?;
        let best = self.best_of(buffer);
        let freed = self.live.device.free(buffer);
        let [htod, dtoh] = best.map_err(|e| e.to_string())?;
        freed.map_err(|e| e.to_string())?;
        Ok(vec![(Metric::LinkHtoD, Reading::measured(htod)), (Metric::LinkDtoH, Reading::measured(dtoh))])
    }

    /// Bytes per second of the fastest copy each way, by the GPU's clock where it has timed the copy.
    fn best_of(&mut self, buffer: Buffer) -> Result<[f64; 2], DeviceError> {
        let mut best = [0.0f64; 2];
        let began = self.live.device.now();
        while self.live.device.now().since(began) < LASTS {
            for (rate, to) in best.iter_mut().zip([Proc::Gpu(0), Proc::Cpu]) {
                let span = self.live.device.transfer(buffer, buffer.whole(), Transfer::Copy, to)?;
                let took = span.gpu.unwrap_or(span.host()).seconds();
                *rate = rate.max(COPY.0 as f64 / took.max(1e-9));
            }
            let now = self.live.device.now();
            if !observe(&mut self.live.stepped, now, &self.sink, &mut self.pace) {
                break;
            }
        }
        Ok(best)
    }
}
