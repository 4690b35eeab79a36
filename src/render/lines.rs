//! Box-drawing characters as rectangles. Arcs become corners; double lines and diagonals are left to the font.

use super::glyph::{Area, HIGH, WIDE};

/// Thickness of a light line in units, and of a heavy one.
const THICK: [u32; 3] = [0, 4, 8];

/// Arms of U+250C to U+254B: up, right, down, left; 0 none, 1 light, 2 heavy. The order is Unicode's.
const ARMS: [&str; 64] = [
    "0110", "0210", "0120", "0220", "0011", "0012", "0021", "0022", "1100", "1200", "2100", "2200", "1001", "1002",
    "2001", "2002", "1110", "1210", "2110", "1120", "2120", "2210", "1220", "2220", "1011", "1012", "2011", "1021",
    "2021", "2012", "1022", "2022", "0111", "0112", "0211", "0212", "0121", "0122", "0221", "0222", "1101", "1102",
    "1201", "1202", "2101", "2102", "2201", "2202", "1111", "1112", "1211", "1212", "2111", "1121", "2121", "2112",
    "2211", "1122", "1221", "2212", "1222", "2122", "2221", "2222",
];

/// Arms of the half lines U+2574 to U+257F.
const HALVES: [&str; 12] =
    ["0001", "1000", "0100", "0010", "0002", "2000", "0200", "0020", "0201", "1020", "0102", "2010"];

/// The rectangles of a box-drawing character; `None` if it is not made of straight single lines.
pub fn lines(c: char) -> Option<Vec<Area>> {
    let code = c as u32;
    Some(match code {
        0x2500 | 0x2501 => arms(if code == 0x2500 { "0101" } else { "0202" }),
        0x2502 | 0x2503 => arms(if code == 0x2502 { "1010" } else { "2020" }),
        0x2504..=0x250b => dashes(code - 0x2504, if code < 0x2508 { 3 } else { 4 }),
        0x250c..=0x254b => arms(ARMS.get((code - 0x250c) as usize)?),
        0x254c..=0x254f => dashes(code - 0x254c, 2),
        0x256d..=0x2570 => arms(["0110", "0011", "1001", "1100"][(code - 0x256d) as usize]),
        0x2574..=0x257f => arms(HALVES.get((code - 0x2574) as usize)?),
        _ => return None,
    })
}

/// From the middle to each side, as far beyond the middle as the thickest line across.
fn arms(code: &str) -> Vec<Area> {
    let weight = |i: usize| code.as_bytes().get(i).map_or(0, |b| THICK[usize::from(b - b'0')]);
    let [up, right, down, left] = [0, 1, 2, 3].map(weight);
    let (cx, cy) = (WIDE / 2, HIGH / 2);
    let across = up.max(down).div_ceil(2);
    let along = left.max(right).div_ceil(2);
    let (to_x, to_y) = (cx + across.max(1), cy + along.max(1));
    let mut areas = Vec::new();
    let mut add = |weight: u32, area: Area| areas.extend((weight > 0).then_some(area));
    add(up, Area { x: cx - up / 2, y: 0, w: up, h: to_y });
    add(down, Area { x: cx - down / 2, y: cy - along, w: down, h: HIGH - cy + along });
    add(left, Area { x: 0, y: cy - left / 2, w: to_x, h: left });
    add(right, Area { x: cx - across, y: cy - right / 2, w: WIDE - cx + across, h: right });
    areas
}

/// Dashes: bit 0 of `kind` is heavy, bit 1 vertical.
fn dashes(kind: u32, n: u32) -> Vec<Area> {
    let thick = THICK[1 + (kind & 1) as usize];
    let vertical = kind & 2 != 0;
    let period = if vertical { HIGH / n } else { WIDE / n };
    let dash = period * 5 / 8;
    let lead = (period - dash) / 2;
    let at = |i: u32| {
        let along = i * period + lead;
        if vertical {
            Area { x: WIDE / 2 - thick / 2, y: along, w: thick, h: dash }
        } else {
            Area { x: along, y: HIGH / 2 - thick / 2, w: dash, h: thick }
        }
    };
    (0..n).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(c: char) -> [bool; 4] {
        let areas = lines(c).unwrap();
        let any = |side: fn(&Area) -> bool| areas.iter().any(side);
        [any(|a| a.y == 0), any(|a| a.x + a.w == WIDE), any(|a| a.y + a.h == HIGH), any(|a| a.x == 0)]
    }

    #[test]
    fn lines_reach_the_sides_that_they_should_and_so_meet_their_neighbours() {
        for (c, sides) in [
            ('─', [false, true, false, true]),
            ('│', [true, false, true, false]),
            ('┌', [false, true, true, false]),
            ('┐', [false, false, true, true]),
            ('┘', [true, false, false, true]),
            ('└', [true, true, false, false]),
            ('├', [true, true, true, false]),
            ('┤', [true, false, true, true]),
            ('┬', [false, true, true, true]),
            ('┴', [true, true, false, true]),
            ('╋', [true; 4]),
            ('╰', [true, true, false, false]),
            ('╷', [false, false, true, false]),
        ] {
            assert_eq!(touches(c), sides, "{c}");
        }
    }

    #[test]
    fn every_straight_single_line_lies_within_its_cell() {
        for c in '\u{2500}'..='\u{257f}' {
            for a in lines(c).unwrap_or_default() {
                assert!(a.x + a.w <= WIDE && a.y + a.h <= HIGH && a.w > 0 && a.h > 0, "{c} {a:?}");
            }
        }
        assert_eq!((lines('║'), lines('╳')), (None, None));
        assert_eq!((lines('┄').unwrap().len(), lines('┊').unwrap().len()), (3, 4));
    }
}
