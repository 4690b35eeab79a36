//! Lanes that run at the same time: streams of the GPUs, and a loop of the calling thread.

use super::context::LANES;
use super::{Active, CudaDevice, gpu_of};
use crate::device::{DeviceError, Lane, Op, Span, Touched};
use crate::event::{Check, Proc};
use crate::units::Nanos;

/// Which GPU works on a lane; `None` for the CPU's.
fn gpu_of_lane(lane: &Lane) -> Result<Option<u16>, DeviceError> {
    let side = |op: &Op| match *op {
        Op::Touch { on, .. } => gpu_of(on),
        Op::Transfer { to, .. } => Some(gpu_of(to).unwrap_or(0)),
    };
    let gpu = lane.first().and_then(side);
    if lane.iter().any(|op| side(op) != gpu) {
        return Err(DeviceError::Misuse("a lane belongs to one GPU or to the CPU".to_owned()));
    }
    Ok(gpu)
}

/// Runs the lanes. The host's time spans all of them; the GPU's is that of its own streams, where no other GPU takes part.
pub(super) fn run(device: &mut CudaDevice, lanes: &[Lane]) -> Result<Touched, DeviceError> {
    let gpus = lanes.iter().map(gpu_of_lane).collect::<Result<Vec<_>, _>>()?;
    let of = |gpu: Option<u16>| -> Vec<&Lane> {
        lanes.iter().zip(&gpus).filter(|(_, owner)| **owner == gpu).map(|(lane, _)| lane).collect()
    };
    let (host, own, other) = (of(None), of(Some(0)), of(Some(1)));
    if host.len() > 1 || own.len() > LANES || other.len() > LANES || host.len() + own.len() + other.len() < lanes.len()
    {
        return Err(DeviceError::Misuse(format!("at most one lane of the CPU and {LANES} of each of two GPUs")));
    }
    if !other.is_empty() {
        device.gpu(1)?;
    }
    device.gpu(0)?;
    let begin = device.clock.now();
    let launched = start(device, &own, &other);
    let touched = launched.and_then(|()| touch_on_host(device, host));
    // Whatever failed, nothing may still run when this returns.
    let finished = finish(device, !own.is_empty(), !other.is_empty());
    let end = device.clock.now();
    let check = touched?;
    let gpu = finished?.filter(|_| other.is_empty());
    Ok(Touched { span: Span { begin, end, gpu }, check })
}

/// Puts every lane of the GPUs on a stream of its own.
fn start(device: &CudaDevice, own: &[&Lane], other: &[&Lane]) -> Result<(), DeviceError> {
    for (active, lanes) in [(&device.peer, other), (&device.active, own)] {
        let Some(active) = active.as_ref().filter(|_| !lanes.is_empty()) else { continue };
        active.context.enter()?;
        active.context.fork(lanes.len())?;
        enqueue(device, active, lanes)?;
        active.context.join(lanes.len())?;
    }
    Ok(())
}

/// One operation of each lane after the other, so that no lane waits for the launches of another.
fn enqueue(device: &CudaDevice, on: &Active, lanes: &[&Lane]) -> Result<(), DeviceError> {
    let longest = lanes.iter().map(|lane| lane.len()).max().unwrap_or(0);
    for turn in 0..longest {
        for (lane, side) in lanes.iter().zip(&on.context.sides) {
            match lane.get(turn) {
                Some(Op::Touch { buffer, touch, .. }) => device.launch(on, side.stream, *buffer, touch)?,
                Some(Op::Transfer { buffer, part, how, to }) => {
                    device.send(on, side.stream, (*buffer, *part), *how, *to != Proc::Cpu)?;
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// The CPU's lane, in this thread, while the streams run.
fn touch_on_host(device: &mut CudaDevice, lanes: Vec<&Lane>) -> Result<Option<Check>, DeviceError> {
    let mut sum: Option<Check> = None;
    for op in lanes.into_iter().flatten() {
        let Op::Touch { buffer, touch, .. } = op else { continue };
        if let Some(check) = device.touch_on_host(*buffer, touch)? {
            let sum = sum.get_or_insert_default();
            sum.elements += check.elements;
            sum.wrong += check.wrong;
        }
    }
    Ok(sum)
}

/// Waits for the GPUs that took part. The time is that of this GPU, if it did.
fn finish(device: &CudaDevice, own: bool, other: bool) -> Result<Option<Nanos>, DeviceError> {
    let wait = |active: &Option<Active>| -> Result<Option<Nanos>, DeviceError> {
        let Some(active) = active else { return Ok(None) };
        active.context.enter()?;
        // Also where a lane was left in the middle: its stream is not joined then.
        active.context.drain()?;
        active.context.finish().map(Some)
    };
    let peer = if other { wait(&device.peer) } else { Ok(None) };
    let gpu = if own { wait(&device.active) } else { device.active().map(|_| None) };
    peer.and(gpu)
}
