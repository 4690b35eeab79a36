//! Passes the workers' samples on and tells when one is silent.

use super::watchdog::{Silence, Watchdog};
use super::{Facts, gauges, metrics, without_nvlink};
use crate::clock::Clock;
use crate::event::{Body, Event, Level, Metric, Notice, Reading, Sample, Why};
use crate::probe::Emit;
use crate::units::Stamp;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use std::time::Duration;

const GAUGES: usize = 0;
const PCIE: usize = 1;

/// Which worker, when, and what: a sample, a line for the user, or only a sign of life.
type Said = (usize, Stamp, Heard);

enum Heard {
    Sample(Sample),
    Line(String),
    Nothing,
}

/// A worker's way to the relay.
#[derive(Clone)]
pub(super) struct Link(Sender<Said>);

impl Link {
    /// The gauges were read.
    pub(super) fn gauges(&self, now: Stamp, sample: Sample) {
        let _ = self.0.send((GAUGES, now, Heard::Sample(sample)));
    }

    /// The PCIe source answered, with or without something new.
    pub(super) fn pcie(&self, now: Stamp, read: Option<(Stamp, Sample)>) {
        let (at, heard) = read.map_or((now, Heard::Nothing), |(at, sample)| (at, Heard::Sample(sample)));
        let _ = self.0.send((PCIE, at, heard));
    }

    /// The PCIe worker has something to tell the user.
    pub(super) fn says(&self, now: Stamp, line: String) {
        let _ = self.0.send((PCIE, now, Heard::Line(line)));
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
    pub(super) fn run(mut self, facts: &Facts) {
        let pcie = &facts.pcie;
        let without = without_nvlink(facts.carrier.as_ref());
        let read = metrics(without.is_none());
        let mut dog = Watchdog::<2>::new(self.clock.now());
        let mut source = pcie.as_ref().map_or("nvml pcie", |source| source.name()).to_owned();
        if let Err(why) = pcie {
            self.absent(&source, read, why);
        }
        if let Some(why) = &without {
            self.absent("nvml nvlink", &metrics(true)[2..], why);
        }
        if facts.mig {
            let text = "MIG is on: memory, power and clock are those of the whole GPU, not of one slice";
            self.notice(Level::Warning, text.to_owned());
        }
        loop {
            select! {
                recv(self.stopped) -> _ => return,
                recv(self.said) -> said => match said {
                    Ok((worker, at, heard)) => {
                        if dog.heard(worker, self.clock.now()) {
                            self.notice(Level::Info, "NVML answers again".to_owned());
                        }
                        match heard {
                            Heard::Sample(sample) => {
                                if worker == PCIE {
                                    source.clone_from(&sample.source);
                                }
                                (self.emit)(Event { at, body: Body::Sample(sample) });
                            }
                            Heard::Line(line) => self.notice(Level::Warning, line),
                            Heard::Nothing => {}
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
            for Silence { worker, seconds, new } in dog.check(self.clock.now()) {
                if new {
                    let text =
                        format!("NVML stalled {seconds} s: the driver does not answer; the readings are missing");
                    self.notice(Level::Warning, text);
                }
                let why = Why::Stalled(format!("NVML has not answered for {seconds} s"));
                match worker {
                    PCIE => self.absent(&source, read, &why),
                    _ => self.absent(gauges::NAME, gauges::METRICS, &why),
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
        let pcie = Err(Why::NotSupported("none".to_owned()));
        let facts = Facts { driver: None, link_max: None, pcie, carrier: None, mig: false };
        let thread = std::thread::spawn(move || relay.run(&facts));
        let sample = Sample { source: "nvml".to_owned(), window: None, readings: vec![] };
        link.gauges(Stamp(7), sample.clone());
        link.pcie(Stamp(8), None);
        link.gauges(Stamp(9), sample);
        let next = || events.recv_timeout(Duration::from_secs(5)).unwrap();
        let Body::Sample(first) = next().body else { panic!("no sample") };
        assert_eq!(first.readings.len(), 2);
        assert!(first.readings.iter().all(|(_, reading)| reading.value().is_none()));
        let Body::Sample(nvlink) = next().body else { panic!("no sample") };
        let why = Reading::Absent(Why::NotSupported("one GPU is used".to_owned()));
        assert_eq!(nvlink.readings, [(Metric::NvLinkRx, why.clone()), (Metric::NvLinkTx, why)]);
        assert_eq!([next().at, next().at], [Stamp(7), Stamp(9)]);
        // The link is still open, as with a worker that hangs: the relay ends all the same.
        drop(stop);
        thread.join().unwrap();
    }
}
