//! A thread that polls one probe at its period.

use super::{Emit, Probe};
use crate::clock::Clock;
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

/// Polls a probe until dropped.
pub struct Sampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts the thread, named `name`.
    pub fn start(name: &str, mut probe: impl Probe + 'static, clock: Clock, mut emit: Emit) -> io::Result<Self> {
        let (stop, stopped) = bounded::<()>(0);
        let period = Duration::from_nanos(probe.info().period.0);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut events = Vec::new();
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                probe.poll(clock.now(), &mut events);
                events.drain(..).for_each(&mut emit);
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the probe was told by the panic hook.
            let _ = thread.join();
        }
    }
}
