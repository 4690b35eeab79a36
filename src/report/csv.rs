//! `umtop bench --format csv`: one row a pass, warm-ups included and marked.

use crate::event::{Pass, Phase};
use crate::session::{Run, Session, phase_ns};

/// The passes of every run as CSV (RFC 4180) with a heading. What is not known is empty, never 0.
pub fn csv(session: &Session) -> Result<String, csv::Error> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(heading())?;
    for run in &session.runs.runs {
        for (_, pass) in run.passes.iter() {
            table.write_record(row(run, pass))?;
        }
    }
    let bytes = table.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn heading() -> Vec<String> {
    let fixed = "run workload label memory prefetch advice size_bytes shape trace pass warmup time_ns";
    let counts = "bytes_htod bytes_dtoh gpu_faults gpu_faults_raw cpu_faults batches thrashing throttled remote_maps lost \
                  elements wrong bytes_gpu0_to_gpu1 bytes_gpu1_to_gpu0";
    let mut names: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
    for phase in Phase::ALL {
        names.extend([format!("{}_host_ns", phase.name()), format!("{}_gpu_ns", phase.name())]);
    }
    names.extend(counts.split_whitespace().map(str::to_owned));
    names
}

fn row(run: &Run, pass: &Pass) -> Vec<String> {
    let s = &run.start.settings;
    let maybe = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let mut row = vec![
        run.start.run.0.to_string(),
        s.workload.clone(),
        run.start.label.clone().unwrap_or_default(),
        s.memory.to_string(),
        s.prefetch.to_string(),
        s.advice.to_string(),
        s.size.0.to_string(),
        s.shape.to_string(),
        run.start.trace.to_string(),
        pass.index.to_string(),
        pass.warmup.to_string(),
        pass.timed.0.to_string(),
    ];
    for phase in Phase::ALL {
        let gpu = pass.phases.iter().find(|time| time.phase == phase).and_then(|time| time.gpu);
        row.extend([maybe(phase_ns(pass, phase)), maybe(gpu.map(|time| time.0))]);
    }
    let counters = pass.uvm.as_ref().map(|uvm| uvm.counters);
    let events = pass.uvm.as_ref().and_then(|uvm| uvm.events.as_ref());
    let between = pass.uvm.as_ref().filter(|_| run.on_two_gpus()).and_then(|uvm| uvm.between_gpus());
    row.extend(
        [
            counters.map(|c| c.bytes_htod),
            counters.map(|c| c.bytes_dtoh),
            counters.map(|c| c.gpu_faults),
            events.map(|e| e.gpu_faults_raw),
            counters.map(|c| c.cpu_faults),
            events.map(|e| e.batches),
            events.map(|e| e.thrashing),
            events.map(|e| e.throttled),
            events.map(|e| e.remote_maps),
            events.map(|e| e.lost),
            pass.check.map(|check| check.elements),
            pass.check.map(|check| check.wrong),
            between.map(|b| b.gpu0_to_gpu1),
            between.map(|b| b.gpu1_to_gpu0),
        ]
        .map(maybe),
    );
    row
}
