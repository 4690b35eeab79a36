//! The line below a picture: what it shows, of which machine, from when.

use crate::event::Origin;
use crate::session::Session;
use crate::ui::Mode;
use std::time::Duration;

/// Parts of the line, the most important first: SIMULATED or MEASURED (and REPLAY), machine, time, version.
pub fn caption(session: &Session, mode: Mode) -> Vec<String> {
    let Some(header) = &session.header else { return vec!["NOTHING SEEN YET".to_owned()] };
    let origin = match &header.origin {
        Origin::Measured => "MEASURED".to_owned(),
        Origin::Simulated { profile, .. } => format!("SIMULATED {profile}"),
    };
    let origin = if mode == Mode::Replay { format!("REPLAY, {origin}") } else { origin };
    let mut parts = vec![origin];
    match &header.gpu {
        Some(gpu) if gpu.driver.is_empty() => parts.push(gpu.name.clone()),
        Some(gpu) => parts.extend([gpu.name.clone(), format!("driver {}", gpu.driver)]),
        None => parts.push("no GPU".to_owned()),
    }
    let seconds = session.now.seconds();
    parts.push(match wall(&header.started, session.now.0) {
        Some(wall) => format!("{wall} ({seconds:.1} s)"),
        None => format!("{seconds:.1} s"),
    });
    parts.push(format!("umtop {}", header.umtop));
    parts
}

/// Wall-clock time so many nanoseconds after a start as RFC 3339 has it; `None` if the start is no such time.
fn wall(started: &str, after_ns: u64) -> Option<String> {
    let start = humantime::parse_rfc3339_weak(started).ok()?;
    let moment = start.checked_add(Duration::from_nanos(after_ns))?;
    // humantime panics beyond the year 9999.
    let limit = humantime::parse_rfc3339("9999-12-31T23:59:59Z").ok()?;
    (moment < limit).then(|| humantime::format_rfc3339_seconds(moment).to_string())
}

#[cfg(test)]
mod tests {
    use super::wall;

    #[test]
    fn wall_time_is_the_start_plus_the_moment() {
        assert_eq!(wall("2026-11-30T10:08:46Z", 14_600_000_000).as_deref(), Some("2026-11-30T10:09:00Z"));
        assert_eq!(wall("yesterday", 0), None);
        assert_eq!(wall("9999-12-31T23:59:00Z", u64::MAX), None);
    }
}
