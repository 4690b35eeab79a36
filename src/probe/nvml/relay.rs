//! Passes the workers' samples on and tells when one is silent.

use super::watchdog::{STALL, Watchdog};
use super::{PCIE_METRICS, PcieSource, gauges};
use crate::clock::Clock;
use crate::event::{Body, Event, Level, Metric, Notice, Reading, Sample, Why};
use crate::probe::Emit;
use crate::units::Stamp;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use std::time::Duration;

const GAUGES: usize = 0;
const PCIE: usize = 1;

type Said = (usize, Stamp, Option<Sample>);

/// A worker's way to the relay.
#[derive(Clone)]
pub(super) struct Link(Sender<Said>);

impl Link {
    /// The gauges were read.
    pub(super) fn gauges(&self, now: Stamp, sample: Sample) {
        let _ = self.0.send((GAUGES, now, Some(sample)));
    }

    /// The PCIe source answered, with or without something new.
    pub(super) fn pcie(&self, now: Stamp, read: Option<(Stamp, Sample)>) {
        let (at, sample) = read.map_or((now, None), |(at, sample)| (at, Some(sample)));
        let _ = self.0.send((PCIE, at, sample));
    }
}

/// The thread's state.
pub(super) struct Relay {
    said: Receiver<Said>,
    stopped: Receiver<()>,
    clock: Clock,
    emit: Emit,
}

impl Relay {
    /// A relay and the workers' link to it.
    pub(super) fn new(clock: Clock, emit: Emit, stopped: Receiver<()>) -> (Link, Relay) {
        let (link, said) = unbounded();
        (Link(link), Relay { said, stopped, clock, emit })
    }

    /// Runs until the probe is dropped.
    pub(super) fn run(mut self, pcie: &Result<PcieSource, Why>) {
        let mut dog = Watchdog::<2>::new(self.clock.now());
        if let Err(why) = pcie {
            self.absent("nvml pcie", &PCIE_METRICS, why);
        }
        loop {
            select! {
                recv(self.stopped) -> _ => return,
                recv(self.said) -> said => match said {
                    Ok((worker, at, sample)) => {
                        if dog.heard(worker, self.clock.now()) {
                            self.notice(Level::Info, "NVML answers again".to_owned());
                        }
                        if let Some(sample) = sample {
                            (self.emit)(Event { at, body: Body::Sample(sample) });
                        }
                    }
                    Err(_) => return,
                },
                default(Duration::from_millis(500)) => {}
            }
            // Without a source there is no worker to wait for.
            if pcie.is_err() {
                dog.heard(PCIE, self.clock.now());
            }
            for worker in dog.check(self.clock.now()) {
                let text = format!("NVML stalled {}", STALL.seconds());
                self.notice(Level::Warning, format!("{text} s: the driver does not answer; the readings are missing"));
                let why = Why::Stalled(format!("{text} s"));
                match (worker, pcie) {
                    (PCIE, Ok(source)) => self.absent(source.name(), &PCIE_METRICS, &why),
                    _ => self.absent(gauges::NAME, &gauges::METRICS, &why),
                }
            }
        }
    }

    fn absent(&mut self, source: &str, metrics: &[Metric], why: &Why) {
        let readings = metrics.iter().map(|metric| (*metric, Reading::Absent(why.clone()))).collect();
        let body = Body::Sample(Sample { source: source.to_owned(), window: None, readings });
        (self.emit)(Event { at: self.clock.now(), body });
    }

    fn notice(&mut self, level: Level, text: String) {
        let body = Body::Notice(Notice { level, source: "nvml".to_owned(), text });
        (self.emit)(Event { at: self.clock.now(), body });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::bounded;

    #[test]
    fn samples_pass_in_order_and_a_missing_source_is_said_at_once() {
        let (stop, stopped) = bounded(0);
        let (out, events) = unbounded();
        let clock = Clock::start();
        let (link, relay) = Relay::new(clock, Box::new(move |event| drop(out.send(event))), stopped);
        let thread = std::thread::spawn(move || relay.run(&Err(Why::NotSupported("none".to_owned()))));
        let sample = Sample { source: "nvml".to_owned(), window: None, readings: vec![] };
        link.gauges(Stamp(7), sample.clone());
        link.pcie(Stamp(8), None);
        link.gauges(Stamp(9), sample);
        let next = || events.recv_timeout(Duration::from_secs(5)).unwrap();
        let Body::Sample(first) = next().body else { panic!("no sample") };
        assert_eq!(first.readings.len(), 2);
        assert!(first.readings.iter().all(|(_, reading)| reading.value().is_none()));
        assert_eq!([next().at, next().at], [Stamp(7), Stamp(9)]);
        // The link is still open, as with a worker that hangs: the relay ends all the same.
        drop(stop);
        thread.join().unwrap();
    }
}
