//! Where every block lives, and the history of the one under the cursor.

mod block;

use crate::session::RangeMap;
use crate::ui::keys::Action;
use crate::ui::theme::Role;
use crate::ui::view::cells::{self, Cell};
use crate::ui::view::context::Context;
use crate::units::{BLOCK, Bytes};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

/// From this width on the block's history stands beside the map, else below.
const BESIDE_FROM: u16 = 104;
/// Its width beside, its height below.
const BLOCK_WIDTH: u16 = 42;
const BLOCK_HEIGHT: u16 = 8;
/// Rows of the legend below the map.
const LEGEND: u16 = 2;

/// Map and block, divided.
fn divide(area: Rect) -> (Rect, Rect) {
    if area.width >= BESIDE_FROM {
        let map = Rect { width: area.width - BLOCK_WIDTH, ..area };
        (map, Rect { x: map.right(), width: BLOCK_WIDTH, ..area })
    } else {
        let map = Rect { height: area.height - BLOCK_HEIGHT, ..area };
        (map, Rect { y: map.bottom(), height: BLOCK_HEIGHT, ..area })
    }
}

/// Where the cells go.
struct Grid {
    /// Blocks a cell, columns and rows of the terminal a cell, cells a row.
    per: usize,
    wide: usize,
    tall: usize,
    cells: usize,
    area: Rect,
}

/// What is on the map.
struct Placed {
    /// Ranges by their number, each with the row of its title.
    ranges: Vec<(usize, Rect)>,
    /// Cells with their positions.
    cells: Vec<(Cell, (u16, u16))>,
}

/// Sizes of a cell in columns and rows, the gap to the next included, largest first.
const SIZES: [(usize, usize); 5] = [(6, 2), (4, 2), (4, 1), (2, 1), (1, 1)];

impl Grid {
    /// The grid with the largest cells with which every range fits, each below a line of its own.
    fn new(cx: &Context, map: Rect) -> Self {
        let area = Rect {
            x: map.x + 2,
            y: map.y + 1,
            width: map.width.saturating_sub(4),
            height: map.height.saturating_sub(2 + LEGEND),
        };
        let most = cx.session.residency.maps.iter().map(|map| map.blocks.len()).max().unwrap_or(1);
        let sized = |(wide, tall), per| Self { per, wide, tall, cells: Self::row(area, wide), area };
        let fits = |grid: &Self| grid.rows(cx) <= usize::from(area.height);
        if let Some(grid) = SIZES.into_iter().map(|size| sized(size, 1)).find(fits) {
            return grid;
        }
        let mut grid = sized((1, 1), 2);
        while !fits(&grid) && grid.per < most {
            grid.per *= 2;
        }
        grid
    }

    /// Cells a row: a multiple of 8, so that columns can be counted.
    fn row(area: Rect, wide: usize) -> usize {
        let cells = usize::from(area.width) / wide;
        if cells >= 8 { cells / 8 * 8 } else { cells.max(1) }
    }

    fn rows(&self, cx: &Context) -> usize {
        let rows = |blocks: usize| blocks.div_ceil(self.per).div_ceil(self.cells) * self.tall + 1;
        cx.session.residency.maps.iter().map(|map| rows(map.blocks.len())).sum()
    }

    /// A row for each range by its number, and each cell with its position, as far as they fit.
    fn placed(&self, cx: &Context) -> Placed {
        let (mut ranges, mut cells) = (Vec::new(), Vec::new());
        let (mut y, mut first) = (0usize, 0);
        let height = usize::from(self.area.height);
        for (i, map) in cx.session.residency.maps.iter().enumerate() {
            if y >= height {
                break;
            }
            ranges.push((i, Rect { y: self.area.y + y as u16, height: 1, ..self.area }));
            y += 1;
            let all = cells::cells(cx.session, map, first, self.per);
            let lines = all.len().div_ceil(self.cells) * self.tall;
            for (n, cell) in all.into_iter().enumerate() {
                let row = y + n / self.cells * self.tall;
                if row < height {
                    let x = usize::from(self.area.x) + n % self.cells * self.wide;
                    cells.push((cell, (x as u16, self.area.y + row as u16)));
                }
            }
            y += lines;
            first += map.blocks.len();
        }
        Placed { ranges, cells }
    }
}

/// Draws the screen.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let (map, block) = divide(area);
    let grid = Grid::new(cx, map);
    let scale = Line::from(cx.span(Role::Dim, format!("{} a cell", Bytes(grid.per as u64 * BLOCK))));
    let inner = cx.boxed(map, "Memory map", &[scale], buf);
    if cx.session.residency.maps.is_empty() {
        cx.words(inner, Role::Dim, &cells::nothing(cx.session), buf);
        cx.boxed(block, "Block", &[], buf);
        return;
    }
    let chosen = cursor(cx);
    let Placed { ranges, cells } = grid.placed(cx);
    for (i, row) in ranges {
        range_line(cx, i, row, buf);
    }
    for (cell, (x, y)) in cells {
        let (glyph, style) = cells::glyph(cx, &cell);
        let here = (cell.first..cell.first + cell.blocks).contains(&chosen);
        let style = if here { style.add_modifier(Modifier::REVERSED | Modifier::BOLD) } else { style };
        let columns = (grid.wide - 1).max(1);
        buf.set_stringn(x, y, glyph.repeat(columns), columns, style);
    }
    legend(cx, inner, buf);
    block::draw(cx, block, chosen, buf);
}

fn range_line(cx: &Context, i: usize, row: Rect, buf: &mut Buffer) {
    let Some(map) = cx.session.residency.maps.get(i) else { return };
    let mut spans = vec![
        cx.span(Role::Value, map.range.label.clone()),
        cx.span(Role::Dim, format!("  {}  at {:#x}", map.range.bytes, map.range.address)),
    ];
    if let Some((gpu, cpu)) = map.shares() {
        spans.extend(gpus(cx, map, gpu));
        spans.push(cx.span(Role::Cpu, format!("  CPU {:.0} %", cpu * 100.0)));
    }
    buf.set_line(row.x, row.y, &Line::from(spans), row.width);
}

/// The share on GPUs; of several, of each that is known to hold something, and the rest.
fn gpus(cx: &Context, map: &RangeMap, all: f64) -> Vec<Span<'static>> {
    let gpus = &cx.session.residency.gpus;
    let share = |role, name: String, share: f64| cx.span(role, format!("  {name} {:.0} %", share * 100.0));
    if gpus.len() < 2 || all == 0.0 {
        return vec![share(Role::Gpu, "GPU".to_owned(), all)];
    }
    let each: Vec<(u16, f64)> = gpus.iter().map(|n| (*n, map.share_of(*n))).collect();
    let rest = all - each.iter().map(|(_, held)| held).sum::<f64>();
    let role = |i: usize| if i == 0 { Role::Gpu } else { Role::Peer };
    let mut spans: Vec<Span> =
        each.into_iter().enumerate().map(|(i, (n, held))| share(role(i), format!("GPU {n}"), held)).collect();
    // Blocks on several, and those of which nothing tells on which.
    spans.extend((rest > 0.005).then(|| share(Role::Dim, "GPUs".to_owned(), rest)));
    spans
}

fn legend(cx: &Context, inner: Rect, buf: &mut Buffer) {
    let rows = LEGEND.min(inner.height);
    let y = inner.bottom() - rows;
    let mut x = inner.x;
    for part in cells::legend(cx).into_iter().chain([cells::moving(cx)]) {
        let width = part.width() as u16;
        if x + width > inner.right() {
            break;
        }
        buf.set_line(x, y, &part, width);
        x += width + 2;
    }
    if rows == LEGEND {
        let room = usize::from(inner.width);
        buf.set_stringn(inner.x, y + 1, cx.fit(&cells::rests_on(cx), room), room, cx.theme.style(Role::Dim));
    }
}

/// The block under the cursor, within what there is.
fn cursor(cx: &Context) -> usize {
    cx.model.ui.block.min(blocks(cx).saturating_sub(1))
}

fn blocks(cx: &Context) -> usize {
    cx.session.residency.maps.iter().map(|map| map.blocks.len()).sum()
}

/// What a click does.
pub fn at(cx: &Context, area: Rect, at: (u16, u16)) -> Option<Action> {
    let grid = Grid::new(cx, divide(area).0);
    let wide = grid.wide as u16;
    let under = |(x, y): (u16, u16)| y == at.1 && (x..x + wide).contains(&at.0);
    let found = grid.placed(cx).cells.into_iter().find(|(_, place)| under(*place));
    found.map(|(cell, _)| Action::Block(cell.first))
}

/// Where an arrow takes the cursor.
pub fn block_after(cx: &Context, area: Rect, action: Action) -> usize {
    let grid = Grid::new(cx, divide(area).0);
    let (now, last) = (cursor(cx), blocks(cx).saturating_sub(1));
    let row = grid.per * grid.cells;
    match action {
        Action::Left => now.saturating_sub(grid.per),
        Action::Right => (now + grid.per).min(last),
        Action::Previous => now.checked_sub(row).unwrap_or(now),
        Action::Next if now + row <= last => now + row,
        _ => now,
    }
}
