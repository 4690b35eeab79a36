//! Where everything goes: a pure function of the terminal's size and of the mode.

use crate::ui::setup::Mode;
use crate::ui::state::Screen;
use ratatui::layout::Rect;

/// The least terminal.
pub const LEAST: (u16, u16) = (60, 18);
/// From this width on the workload column is shown; below it the settings are one line.
const COLUMN_FROM: u16 = 76;
/// From this height on the tabs are shown.
const TABS_FROM: u16 = 22;
/// Rows of the settings below their rule.
pub const SETTINGS: u16 = 5;

/// A chart over the common time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Traffic of the link.
    Pcie,
    /// What goes from GPU to GPU, where several work.
    Peer,
    /// What the driver moved.
    Migrated,
    /// Page faults.
    Faults,
    /// Memory of the card.
    Vram,
    /// Time per pass; of a watched program where it faults, and its output.
    Passes,
    /// Where the blocks of the managed ranges live.
    Residency,
}

/// Panels from top to bottom: rows that they need, and their share of what is left.
const PANELS: [(Panel, u16, u16); 7] = [
    (Panel::Pcie, 2, 4),
    (Panel::Peer, 2, 3),
    (Panel::Migrated, 2, 4),
    (Panel::Faults, 2, 3),
    (Panel::Vram, 1, 1),
    (Panel::Passes, 2, 3),
    (Panel::Residency, 1, 1),
];

/// What gives way first when there is no room; the time axis's labels go before all of them.
const DROPPED: [Panel; 6] = [Panel::Residency, Panel::Vram, Panel::Peer, Panel::Faults, Panel::Passes, Panel::Migrated];

/// The screen, divided.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// One row.
    pub header: Rect,
    /// The names of the screens, where there is room.
    pub tabs: Option<Rect>,
    /// The workload column, frame included.
    pub column: Option<Rect>,
    /// The settings in one row, where there is no column.
    pub strip: Option<Rect>,
    /// The charts, frame included; on other screens all between tabs and sentence.
    pub charts: Rect,
    /// The sentence, on screens without charts: there it is the charts' foot.
    pub sentence: Option<Rect>,
    /// Each panel's content with its rule as the row above; without side borders.
    pub panels: Vec<(Panel, Rect)>,
    /// Labels of the time axis.
    pub axis: Option<Rect>,
    /// One row.
    pub footer: Rect,
}

/// Divides the screen; `None` if it is too small. `peers` says whether several GPUs work.
pub fn layout(area: Rect, mode: Mode, screen: Screen, peers: bool) -> Option<Layout> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let row = |y: u16| Rect::new(area.x, y, area.width, 1);
    let (header, footer) = (row(area.y), row(area.bottom() - 1));
    let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
    let tabs = (area.height >= TABS_FROM).then(|| row(body.y));
    if tabs.is_some() {
        body = Rect { y: body.y + 1, height: body.height - 1, ..body };
    }
    if screen != Screen::Live {
        let sentence = Some(row(body.bottom() - 1));
        let charts = Rect { height: body.height - 1, ..body };
        let (panels, axis) = (Vec::new(), None);
        return Some(Layout { header, tabs, column: None, strip: None, charts, sentence, panels, axis, footer });
    }
    let with_column = mode == Mode::Live && area.width >= COLUMN_FROM;
    let (mut column, mut strip) = (None, None);
    if with_column {
        let width = (area.width / 4).clamp(23, 34);
        column = Some(Rect { width, ..body });
        body = Rect { x: body.x + width, width: body.width - width, ..body };
    } else {
        strip = Some(row(body.y));
        body = Rect { y: body.y + 1, height: body.height - 1, ..body };
    }
    let (panels, axis) = stack(body, mode, peers);
    Some(Layout { header, tabs, column, strip, charts: body, sentence: None, panels, axis, footer })
}

/// Stacks the panels.
fn stack(body: Rect, mode: Mode, peers: bool) -> (Vec<(Panel, Rect)>, Option<Rect>) {
    let mut shown = PANELS.to_vec();
    shown.retain(|(panel, ..)| peers || *panel != Panel::Peer);
    if mode == Mode::Watch {
        // There the program and its sites take the place of the passes, and need more of it.
        shown.iter_mut().filter(|(panel, ..)| *panel == Panel::Passes).for_each(|(_, _, share)| *share = 7);
    }
    let mut axis = true;
    let need = |shown: &[(Panel, u16, u16)], axis: bool| -> u16 {
        shown.iter().map(|(_, least, _)| least + 1).sum::<u16>() + 1 + u16::from(axis)
    };
    let mut drops = DROPPED.iter();
    while need(&shown, axis) > body.height {
        if axis {
            axis = false;
        } else if let Some(drop) = drops.next() {
            shown.retain(|(panel, _, _)| panel != drop);
        } else {
            return (Vec::new(), None);
        }
    }
    let mut spare = body.height - need(&shown, axis);
    let mut weights: u16 = shown.iter().map(|(_, _, weight)| weight).sum();
    let mut y = body.y;
    let mut panels = Vec::new();
    for (panel, least, weight) in shown {
        let more = (f32::from(spare) * f32::from(weight) / f32::from(weights)).round() as u16;
        spare -= more;
        weights -= weight;
        let height = least + more;
        panels.push((panel, Rect::new(body.x + 1, y + 1, body.width - 2, height)));
        y += height + 1;
    }
    let axis = axis.then(|| Rect::new(body.x + 1, y, body.width - 2, 1));
    (panels, axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_lies_within_the_screen_and_apart(width in 1u16..400, height in 1u16..120, peers: bool) {
            let area = Rect::new(0, 0, width, height);
            for mode in [Mode::Live, Mode::Watch, Mode::Replay] {
                let Some(l) = layout(area, mode, Screen::Live, peers) else {
                    prop_assert!(width < LEAST.0 || height < LEAST.1);
                    continue;
                };
                let mut rects: Vec<Rect> = l.panels.iter().map(|(_, rect)| *rect).collect();
                rects.extend([l.header, l.footer]);
                rects.extend([l.tabs, l.column, l.strip, l.axis].into_iter().flatten());
                for (i, a) in rects.iter().enumerate() {
                    prop_assert_eq!(a.intersection(area), *a);
                    prop_assert!(!a.is_empty());
                    prop_assert!(rects[i + 1..].iter().all(|b| a.intersection(*b).is_empty()));
                }
                let other = layout(area, mode, Screen::Memory, peers);
                prop_assert!(other.is_some_and(|o| o.charts.height >= 14 && o.charts.intersection(o.footer).is_empty()));
                prop_assert_eq!(l.panels.iter().map(|(_, r)| r.height + 1).sum::<u16>() + 1 + u16::from(l.axis.is_some()), l.charts.height);
            }
        }
    }

    #[test]
    fn the_smallest_screen_keeps_every_chart() {
        let l = layout(Rect::new(0, 0, 60, 18), Mode::Live, Screen::Live, false).unwrap();
        assert_eq!((l.panels.len(), l.axis, l.column), (5, None, None));
        assert!(layout(Rect::new(0, 0, 80, 24), Mode::Live, Screen::Live, false).unwrap().column.is_some());
        let two = layout(Rect::new(0, 0, 80, 24), Mode::Live, Screen::Live, true).unwrap();
        assert_eq!(two.panels.len(), 7, "and the usual one has room for what goes between GPUs");
    }
}
