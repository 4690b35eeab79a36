//! The dashboard over a device. The device is opened on the worker's thread, since CUDA takes a third of a second for that and
//! a driver that hangs takes for ever: the screen is there meanwhile.

use super::Failure;
use super::dashboard::{QUEUE, require_terminal, show, take_terminal, theme, worker};
use super::desk::desk;
use super::library::library;
use super::metrics::Published;
use super::open::{Opened, Probing, open};
use super::settings::first;
use crate::cli::{Dashboard, EXIT_USAGE};
use crate::event::{Can, Caps, Control, Origin, Settings, TraceLevel};
use crate::probe::Probe;
use crate::probe::host::HostProbe;
use crate::source::{Pace, Sink, Work};
use crate::ui::{Entry, Mode, Setup, Theme};
use crate::units::Bytes;
use crate::workload::{Choice, Library, Workload, check_footprint, plan, vram_room};
use crossbeam_channel::{Receiver, bounded, unbounded};
use std::process::ExitCode;
use std::time::Duration;

/// What opens within this time, or cannot be opened, needs no screen that says so.
const AT_ONCE: Duration = Duration::from_millis(60);

pub(super) fn live(mut args: Dashboard) -> Result<ExitCode, Failure> {
    let library = library(std::slice::from_mut(&mut args.workload))?;
    // What makes no sense is said before a device is opened; sizes may depend on the device.
    let settings = first(&library, &args)?;
    require_terminal()?;
    let theme = theme(args.theme);
    let mut desk = desk(Published::start(args.metrics.metrics)?)?;
    let opening = Setup { opening: true, ..setup(&args, theme, &library, None, settings) };
    let (sink, events) = Sink::new(QUEUE);
    let (control, wishes) = unbounded();
    let (tell, opened) = bounded(1);
    let worker_sink = sink.clone();
    let worker = worker(move || {
        let Prepared { opened, setup, work, pace } = prepare(&args, theme, library, &worker_sink)?;
        // Nobody to tell: the user has left meanwhile.
        if tell.send(setup).is_ok() {
            opened.live.run(opened.header, work, worker_sink, pace(wishes));
        }
        drop(opened.samplers);
        Ok(())
    })?;
    let setup = match opened.recv_timeout(AT_ONCE) {
        Ok(setup) => setup,
        Err(error) if error.is_timeout() => {
            desk.opened = opened;
            opening
        }
        Err(_) => return Err(worker.failure()),
    };
    let guard = match take_terminal() {
        Ok(guard) => guard,
        Err(failure) => {
            worker.stop(&control);
            return Err(failure);
        }
    };
    show(guard, events, control, setup, desk, worker, Some(&sink))
}

/// A device that is open, and what is to be done with it.
struct Prepared {
    opened: Opened,
    setup: Setup,
    work: Work,
    pace: fn(Receiver<Control>) -> Pace,
}

fn prepare(args: &Dashboard, theme: Theme, library: Library, sink: &Sink) -> Result<Prepared, Failure> {
    let mut opened = open(&args.device, Probing::All, library, sink)?;
    let library = opened.live.library.clone();
    let settings = first(&library, args)?;
    let simulated = matches!(opened.header.origin, Origin::Simulated { .. });
    if simulated {
        // The host is real, and virtual time is held to the wall here, so its figures mean something.
        let host = HostProbe::new();
        opened.header.probes.push(host.info());
        opened.live.stepped.push(Box::new(host));
    }
    startable(&library, &settings, &opened, args.device.allow_oversubscription)?;
    if let Some(path) = &args.record {
        sink.record(path).map_err(Failure::failed)?;
    }
    let setup = setup(args, theme, &library, Some(&opened), settings.clone());
    // What oversubscribes the card waits until the user has confirmed it on the screen.
    let work = if setup.oversubscribes(&settings) { Work::OnRequest(settings) } else { Work::Interactive(settings) };
    // Real time passes by itself; virtual time must be held to the wall.
    let pace = if simulated { |wishes| Pace::at_speed(1.0, wishes) } else { Pace::unpaced };
    Ok(Prepared { opened, setup, work, pace })
}

/// What the screen is started with; before the device is open, without what only the device knows.
fn setup(args: &Dashboard, theme: Theme, library: &Library, opened: Option<&Opened>, settings: Settings) -> Setup {
    Setup {
        workloads: library.iter().map(|workload| entry(workload, opened.map(|opened| &opened.header.caps))).collect(),
        settings,
        vram_free: opened.and_then(|opened| opened.free.as_ref()).map(vram_room),
        oversubscription: args.device.allow_oversubscription,
        recording: args.record.is_some(),
        ..Setup::idle(Mode::Live, theme)
    }
}

fn entry(workload: &Workload, caps: Option<&Caps>) -> Entry {
    let default = workload.variant(Choice::default());
    let settings = workload.settings(default, workload.memory.size, TraceLevel::Off);
    let available = match caps.map(|caps| plan(workload, &settings, caps)) {
        None | Some(Ok(_)) => Can::Yes,
        Some(Err(reasons)) => Can::No(reasons.join("; ")),
    };
    Entry {
        name: workload.name.clone(),
        title: workload.title.clone(),
        question: workload.question.clone(),
        available,
        settings,
        size: (workload.memory.min, workload.memory.max.unwrap_or(Bytes(1 << 40))),
        rounds: workload.pass.rounds,
    }
}

/// Flags that cannot work on this machine are bad usage.
fn startable(library: &Library, settings: &Settings, opened: &Opened, allow: bool) -> Result<(), Failure> {
    let usage = |line: String| Failure::new(EXIT_USAGE, line);
    let workload = library.find(&settings.workload).map_err(usage)?;
    plan(workload, settings, &opened.header.caps).map_err(|reasons| usage(reasons.join("; ")))?;
    let Some(free) = &opened.free else { return Ok(()) };
    check_footprint(settings.size, settings.memory, free, allow).map_err(|e| usage(e.to_string()))
}
