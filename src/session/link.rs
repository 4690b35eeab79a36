//! What the link can carry: measured if somebody has measured it, else by its generation and lanes.

use super::Session;
use crate::event::Metric;

/// Bytes per second that a lane carries after line coding, by PCIe generation from 1: 2.5 and 5 GT/s with 8b/10b,
/// 8, 16 and 32 GT/s with 128b/130b, 64 GT/s in flits of 242 useful bytes in 256.
const LANE: [f64; 6] = [0.25e9, 0.5e9, 0.9846e9, 1.9692e9, 3.9385e9, 7.5625e9];

/// The most that the link carries in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCeiling {
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// By explicit copies in this session; else computed from generation and lanes, protocol not counted.
    pub measured: bool,
}

/// The ceiling of the link; `None` if nothing is known of it.
pub fn link_ceiling(session: &Session) -> Option<LinkCeiling> {
    let measured = |metric| session.metric(metric).and_then(|known| known.value());
    let best = [Metric::LinkHtoD, Metric::LinkDtoH].into_iter().filter_map(measured).reduce(f64::max);
    if let Some(bytes_per_second) = best {
        return Some(LinkCeiling { bytes_per_second, measured: true });
    }
    let (generation, lanes) = session.header.as_ref()?.gpu.as_ref()?.link_max?;
    let lane = LANE.get(generation.checked_sub(1)? as usize)?;
    Some(LinkCeiling { bytes_per_second: lane * f64::from(lanes), measured: false })
}
