//! A recording that is folded as far as a picture needs.

use super::RenderError;
use crate::event::{Body, Event};
use crate::recording::{ReadError, Reader, Stored};
use crate::ui::{Mode, Model, Msg, Setup, Theme, update};
use crate::units::Stamp;

/// A model for pictures without a terminal: they look alike wherever they are made.
pub fn pictured() -> Model {
    let rich = Theme::detect(|name| match name {
        "TERM" => Some("xterm-256color".to_owned()),
        "COLORTERM" => Some("truecolor".to_owned()),
        "LANG" => Some("C.UTF-8".to_owned()),
        _ => None,
    });
    Model::new(Setup::idle(Mode::Replay, rich))
}

/// A recording that is folded as far as needed.
pub struct Tape {
    reader: Reader,
    /// Read, but later than the moment that was asked for.
    waiting: Option<Event>,
    /// What the dashboard would show.
    pub model: Model,
    /// The header's moment.
    pub first: Stamp,
    /// Whether everything was taken in.
    pub ended: bool,
}

impl Tape {
    /// Opens a recording and takes in its header.
    pub fn open(stored: &Stored) -> Result<Self, ReadError> {
        let mut reader = stored.open()?;
        let header = reader.next_event()?.filter(|event| matches!(event.body, Body::Header(_)));
        let Some(header) = header else { return Err(ReadError::NotARecording(stored.name())) };
        let first = header.at;
        let mut model = pictured();
        update(&mut model, Msg::Event(Box::new(header)));
        Ok(Self { reader, waiting: None, model, first, ended: false })
    }

    /// Takes in everything up to a moment, which must lie in the recording.
    pub fn to(&mut self, at: Stamp) -> Result<(), RenderError> {
        let outside = |tape: &Self| RenderError::Outside {
            first: tape.first.seconds(),
            last: tape.model.session.now.seconds(),
            asked: at.seconds(),
        };
        while let Some(event) = self.next()? {
            if event.at > at {
                self.waiting = Some(event);
                break;
            }
            update(&mut self.model, Msg::Event(Box::new(event)));
        }
        if self.ended && at > self.model.session.now {
            return Err(outside(self));
        }
        if at < self.first {
            self.to_end()?;
            return Err(outside(self));
        }
        Ok(())
    }

    /// Takes in everything.
    pub fn to_end(&mut self) -> Result<(), RenderError> {
        while let Some(event) = self.next()? {
            update(&mut self.model, Msg::Event(Box::new(event)));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Event>, ReadError> {
        if let Some(event) = self.waiting.take() {
            return Ok(Some(event));
        }
        let event = if self.ended { None } else { self.reader.next_event()? };
        if event.is_none() && !self.ended {
            self.ended = true;
            update(&mut self.model, Msg::Ended);
        }
        Ok(event)
    }
}
