//! A recording as a source: the same events, at the pace at which they came, and to any moment that the user asks for.
//!
//! A session is a fold, so going back means to begin anew: the header is sent again, which resets whoever folds, and
//! everything up to the moment follows at once.

use super::pace::Pace;
use super::sink::Sink;
use crate::event::{Body, Control, Event, Level, Notice, REPLAY, RunEvent, Seek};
use crate::recording::{ReadError, Reader, Stored};
use crate::units::Stamp;

/// Plays a recording.
pub struct Replay {
    stored: Stored,
    header: Event,
    reader: Reader,
}

/// What is played up to without waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    At(Stamp),
    NextTick,
    NextRun,
    End,
}

/// How playing was broken off.
enum Left {
    /// The user or the reader of the sink has gone.
    Gone,
    /// To be played from the beginning up to a moment.
    Anew(Stamp),
}

impl Replay {
    /// Opens a recording and reads its header, without which nothing can be shown.
    pub fn open(stored: &Stored) -> Result<Self, ReadError> {
        let mut reader = stored.open()?;
        match reader.next_event()? {
            Some(header) if matches!(header.body, Body::Header(_)) => {
                Ok(Self { stored: stored.clone(), header, reader })
            }
            _ => Err(ReadError::NotARecording(stored.name())),
        }
    }

    /// Plays until the end or until stopped.
    pub fn run(self, sink: &Sink, pace: Pace) {
        let Self { stored, header, mut reader } = self;
        let mut player = Player::new(sink, pace);
        sink.send(header.clone());
        while let Err(Left::Anew(at)) = player.play(&mut reader) {
            match player.again(&stored, &header, at) {
                Some(fresh) => reader = fresh,
                None => return,
            }
        }
    }

    /// As [`Replay::run`], but at the end it says so and waits: the user may want to go back.
    pub fn browse(self, sink: &Sink, pace: Pace) {
        let Self { stored, header, mut reader } = self;
        let mut player = Player::new(sink, pace);
        sink.send(header.clone());
        loop {
            let left = match player.play(&mut reader) {
                Ok(()) => player.rest(),
                Err(left) => left,
            };
            let Left::Anew(at) = left else { return };
            match player.again(&stored, &header, at) {
                Some(fresh) => reader = fresh,
                None => return,
            }
        }
    }
}

struct Player<'a> {
    sink: &'a Sink,
    pace: Pace,
    /// Newest moment that was sent.
    now: Stamp,
    /// Whether the first second has begun.
    started: bool,
    paused: bool,
    goal: Option<Goal>,
}

impl<'a> Player<'a> {
    fn new(sink: &'a Sink, pace: Pace) -> Self {
        Self { sink, pace, now: Stamp(0), started: false, paused: false, goal: None }
    }

    /// Plays what is left of the reader; `Ok` at its end.
    fn play(&mut self, reader: &mut Reader) -> Result<(), Left> {
        loop {
            let event = match reader.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    self.say(Level::Error, error.to_string());
                    break;
                }
            };
            // A recording begun in mid-session starts late: its first second is now, not in an hour.
            if !self.started && !matches!(event.body, Body::Allocated(_) | Body::Run(_) | Body::Watched(_)) {
                self.pace.restart(event.at);
                self.started = true;
            }
            self.await_turn(&event)?;
            let (at, reached) = (event.at, self.reaches(&event));
            self.now = self.now.max(at);
            if !self.sink.send(event) {
                return Err(Left::Gone);
            }
            if reached {
                self.arrive();
            }
            // A long way must not make the program deaf.
            if self.goal.is_some() && self.pace.stopping() {
                return Err(Left::Gone);
            }
        }
        self.arrive();
        if reader.cut() {
            self.say(Level::Warning, "the recording ends in mid-line: its last second may be missing".to_owned());
        }
        Ok(())
    }

    /// Begins anew; `None` if the file can no longer be read or nobody listens.
    fn again(&mut self, stored: &Stored, header: &Event, at: Stamp) -> Option<Reader> {
        let fresh = stored.open().and_then(|mut reader| reader.next_event().map(|_| reader));
        match fresh {
            Ok(reader) => {
                self.now = header.at;
                self.started = false;
                self.goal = Some(Goal::At(at));
                self.sink.send(header.clone()).then_some(reader)
            }
            Err(error) => {
                self.say(Level::Error, error.to_string());
                None
            }
        }
    }

    /// Waits until the event's time has come, obeying meanwhile.
    fn await_turn(&mut self, event: &Event) -> Result<(), Left> {
        loop {
            match self.goal {
                Some(Goal::At(to)) if event.at > to => self.arrive(),
                Some(_) => return Ok(()),
                None => {}
            }
            if self.paused {
                let control = self.pace.await_control();
                self.obey(control)?;
            } else if !self.started || self.pace.wait_or_control(event.at) {
                return Ok(());
            } else {
                while let Some(control) = self.pace.next_control() {
                    self.obey(control)?;
                }
            }
        }
    }

    /// Whether an event is what was to be played up to.
    fn reaches(&self, event: &Event) -> bool {
        match self.goal {
            Some(Goal::NextTick) => matches!(event.body, Body::Uvm(_)),
            Some(Goal::NextRun) => matches!(event.body, Body::Run(RunEvent::Started(_))),
            _ => false,
        }
    }

    /// From here on at the pace of the recording again.
    fn arrive(&mut self) {
        if self.goal.take().is_some() {
            self.pace.restart(self.now);
        }
    }

    fn obey(&mut self, control: Control) -> Result<(), Left> {
        match control {
            Control::Stop => return Err(Left::Gone),
            Control::Speed(speed) => self.pace.set_speed(speed, self.now),
            Control::Pause(paused) => {
                self.paused = paused;
                self.pace.restart(self.now);
            }
            Control::Seek(seek) => self.seek(seek)?,
            _ => {}
        }
        Ok(())
    }

    fn seek(&mut self, seek: Seek) -> Result<(), Left> {
        self.goal = Some(match seek {
            Seek::Start => return Err(Left::Anew(Stamp(0))),
            Seek::Back(by) => return Err(Left::Anew(Stamp(self.now.0.saturating_sub(by.0)))),
            Seek::Forward(by) => Goal::At(self.now.plus(by)),
            Seek::End => Goal::End,
            Seek::Step => {
                self.paused = true;
                Goal::NextTick
            }
            Seek::NextRun => Goal::NextRun,
        });
        Ok(())
    }

    /// Nothing is left to play: waits until the user wants to leave or to go back.
    fn rest(&mut self) -> Left {
        self.say(Level::Info, "the recording ends here".to_owned());
        loop {
            let control = self.pace.await_control();
            if let Err(left) = self.obey(control) {
                return left;
            }
            self.goal = None;
        }
    }

    fn say(&self, level: Level, text: String) {
        let source = if level == Level::Info { REPLAY } else { "recording" };
        let notice = Notice { level, source: source.to_owned(), text };
        self.sink.send(Event { at: self.now, body: Body::Notice(notice) });
    }
}
