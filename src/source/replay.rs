//! A recording as a source: the same events, at the pace at which they came.

use super::pace::Pace;
use super::sink::Sink;
use crate::event::{Body, Control, Event, Level, Notice};
use crate::recording::{ReadError, Reader};
use crate::units::Stamp;
use std::path::Path;

/// Plays a recording.
pub struct Replay {
    header: Event,
    reader: Reader,
}

impl Replay {
    /// Opens a recording and reads its header, without which nothing can be shown.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut reader = Reader::open(path)?;
        match reader.next_event()? {
            Some(header) if matches!(header.body, Body::Header(_)) => Ok(Self { header, reader }),
            _ => Err(ReadError::NotARecording(path.to_owned())),
        }
    }

    /// Plays until the end or until stopped.
    pub fn run(mut self, sink: &Sink, mut pace: Pace) {
        let mut now = self.header.at;
        sink.send(self.header);
        let mut started = false;
        loop {
            let event = match self.reader.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    say(sink, now, Level::Error, error.to_string());
                    break;
                }
            };
            // A recording begun in mid-session starts late: its first second is now, not in an hour.
            if !started && !matches!(event.body, Body::Allocated(_) | Body::Run(_) | Body::Watched(_)) {
                pace.restart(event.at);
                started = true;
            }
            while started && !pace.wait_or_control(event.at) {
                if !obey(&mut pace, now) {
                    return;
                }
            }
            now = now.max(event.at);
            if !sink.send(event) {
                return;
            }
        }
        if self.reader.cut() {
            say(sink, now, Level::Warning, "the recording ends in mid-line: its last second may be missing".to_owned());
        }
    }
}

/// Does what the user wants; `false` to end.
fn obey(pace: &mut Pace, now: Stamp) -> bool {
    while let Some(control) = pace.next_control() {
        match control {
            Control::Stop => return false,
            Control::Speed(speed) => pace.set_speed(speed, now),
            Control::Pause(true) => {
                if !paused(pace, now) {
                    return false;
                }
            }
            Control::Pause(false) | Control::Run(_) | Control::Trace(_) | Control::ProbeLink | Control::Record(_) => {}
        }
    }
    true
}

fn paused(pace: &mut Pace, now: Stamp) -> bool {
    loop {
        match pace.await_control() {
            Control::Stop => return false,
            Control::Pause(false) => {
                pace.restart(now);
                return true;
            }
            Control::Speed(speed) => pace.set_speed(speed, now),
            _ => {}
        }
    }
}

fn say(sink: &Sink, at: Stamp, level: Level, text: String) {
    let notice = Notice { level, source: "recording".to_owned(), text };
    sink.send(Event { at, body: Body::Notice(notice) });
}
