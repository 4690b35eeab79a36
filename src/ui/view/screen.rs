//! The screens besides Live. One file each, and a line of the table.

pub mod compare;
pub mod faults;
pub mod insights;
pub mod machine;
pub mod memory;

use super::context::Context;
use crate::ui::keys::Action;
use crate::ui::state::Screen;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What a screen does with the area below the tabs.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Draws it.
    pub draw: fn(&Context, Rect, &mut Buffer),
    /// What a click at a position (column, row) asks for.
    pub at: fn(&Context, Rect, (u16, u16)) -> Option<Action>,
    /// Lines that do not fit, by which it can be scrolled.
    pub scrollable: fn(&Context, Rect) -> u16,
}

/// Without anything to click.
const fn unclicked(_: &Context, _: Rect, _: (u16, u16)) -> Option<Action> {
    None
}

/// Of a screen that fits itself to the area.
const fn unscrolled(_: &Context, _: Rect) -> u16 {
    0
}

/// How a screen is drawn; `None` for Live, which has panels of its own.
pub fn of(screen: Screen) -> Option<Drawn> {
    Some(match screen {
        Screen::Live => return None,
        Screen::Memory => Drawn { draw: memory::draw, at: memory::at, scrollable: unscrolled },
        Screen::Faults => Drawn { draw: faults::draw, at: faults::at, scrollable: faults::scrollable },
        Screen::Compare => Drawn { draw: compare::draw, at: compare::at, scrollable: unscrolled },
        Screen::Machine => Drawn { draw: machine::draw, at: unclicked, scrollable: machine::scrollable },
        Screen::Insights => Drawn { draw: insights::draw, at: unclicked, scrollable: insights::scrollable },
    })
}
