//! A snapshot as OpenMetrics text. Names come from the catalogues, with `umtop_` before them.

use super::Snapshot;
use crate::event::Count;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

type Labels = Vec<(String, String)>;
type Real = Gauge<f64, AtomicU64>;

/// What is published beside the catalogues.
pub(super) struct Own {
    /// Name of the family.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
}

const fn own(name: &'static str, help: &'static str) -> Own {
    Own { name, help }
}

const SESSION: Own = own("umtop_session", "machine and origin");
const RUN: Own = own("umtop_run", "settings of the run under way");
const PASSES: Own = own("umtop_run_passes", "passes of the run under way that have ended");
const PASS: Own = own("umtop_pass_seconds", "time of the newest pass, as the workload counts it");
const NOW: Own = own("umtop_session_seconds", "time since the session's start");

/// All of it, for the page that lists what is published.
#[cfg(test)]
pub(super) const OWN: [Own; 5] = [SESSION, RUN, PASSES, PASS, NOW];

/// The exposition; it ends in `# EOF`.
pub fn text(snapshot: &Snapshot) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::default();
    if !snapshot.about.is_empty() {
        registry.register(SESSION.name, SESSION.help, Info::new(snapshot.about.clone()));
    }
    if !snapshot.run.is_empty() {
        registry.register(RUN.name, RUN.help, Info::new(snapshot.run.clone()));
    }
    for (metric, source, value) in &snapshot.gauges {
        let family = Family::<Labels, Real>::default();
        family.get_or_create(&vec![("source".to_owned(), source.clone())]).set(*value);
        registry.register(named(metric.info().name), metric.info().help, family);
    }
    for (count, value) in &snapshot.counts {
        let counter = Counter::<u64>::default();
        counter.inc_by(*value);
        registry.register(named(count.info().name), count.info().help, counter);
    }
    if !snapshot.migrated.is_empty() {
        let (bytes, copies) = (Family::<Labels, Counter>::default(), Family::<Labels, Counter>::default());
        for ([src, dst, cause], b, n) in &snapshot.migrated {
            let labels = vec![
                ("src".to_owned(), src.clone()),
                ("dst".to_owned(), dst.clone()),
                ("cause".to_owned(), cause.clone()),
            ];
            bytes.get_or_create(&labels).inc_by(*b);
            copies.get_or_create(&labels).inc_by(*n);
        }
        registry.register(named(Count::MigratedBytes.info().name), Count::MigratedBytes.info().help, bytes);
        registry.register(named(Count::Migrations.info().name), Count::Migrations.info().help, copies);
    }
    let mut gauge = |own: &Own, value: Option<f64>| {
        if let Some(value) = value {
            let gauge = Real::default();
            gauge.set(value);
            registry.register(own.name, own.help, gauge);
        }
    };
    gauge(&PASSES, snapshot.passes.map(|n| n as f64));
    gauge(&PASS, snapshot.pass_seconds);
    gauge(&NOW, Some(snapshot.now_ns as f64 / 1e9));
    let mut out = String::new();
    encode(&mut out, &registry)?;
    Ok(out)
}

/// The name under which a catalogue's row is published.
pub fn named(name: &str) -> String {
    if name.starts_with("umtop_") { name.to_owned() } else { format!("umtop_{name}") }
}
