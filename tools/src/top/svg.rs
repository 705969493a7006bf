//! A frame as an SVG image: text as text, bars and borders as shapes, so that it looks the same
//! with every font.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 12.0;
/// From the top of a cell to the line that letters stand on.
const BASE: f64 = 13.5;

const BACKGROUND: &str = "#161b22";
const FOREGROUND: &str = "#d0d7de";

/// How a cell is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Nothing,
    /// A chart's column, of so many eighths of the height.
    Column(f64),
    /// A piece of a bar, that opaque.
    Bar(f64),
    /// Lines from the middle: to the left, right, top, bottom.
    Lines([bool; 4]),
    Text,
}

fn shape(symbol: &str) -> Shape {
    let mut letters = symbol.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return Shape::Text };
    match letter {
        ' ' => Shape::Nothing,
        '\u{2581}'..='\u{2588}' => {
            let eighths = u32::from(letter) - 0x2580;
            Shape::Column(f64::from(eighths))
        }
        '\u{2591}' => Shape::Bar(0.4),
        '\u{2592}' => Shape::Bar(0.7),
        '\u{2593}' => Shape::Bar(1.0),
        '\u{2500}' => Shape::Lines([true, true, false, false]),
        '\u{2502}' => Shape::Lines([false, false, true, true]),
        '\u{256d}' => Shape::Lines([false, true, false, true]),
        '\u{256e}' => Shape::Lines([true, false, false, true]),
        '\u{256f}' => Shape::Lines([true, false, true, false]),
        '\u{2570}' => Shape::Lines([false, true, true, false]),
        _ => Shape::Text,
    }
}

fn color(cell: &Cell) -> &'static str {
    match cell.fg {
        Color::Green => "#3fb950",
        Color::Yellow => "#d29922",
        Color::Red => "#f85149",
        Color::Blue => "#58a6ff",
        Color::Magenta => "#bc8cff",
        Color::Cyan => "#39c5cf",
        Color::DarkGray => "#7d8590",
        _ => FOREGROUND,
    }
}

/// The image of a frame.
pub fn svg(frame: &Buffer) -> String {
    let area = frame.area();
    let width = f64::from(area.width) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f64::from(area.height) * CELL_HEIGHT + 2.0 * MARGIN;
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"ui-monospace, Menlo, \
         Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..area.height {
        let cells: Vec<&Cell> = (0..area.width).map(|column| &frame[(column, row)]).collect();
        draw_row(&mut image, &cells, MARGIN + f64::from(row) * CELL_HEIGHT);
    }
    image + "</svg>\n"
}

/// Draws a row: neighbours that look alike are one shape or one text.
fn draw_row(image: &mut String, cells: &[&Cell], top: f64) {
    let mut from = 0;
    while let Some(first) = cells.get(from) {
        let kind = shape(first.symbol());
        let alike = |cell: &&&Cell| {
            let same = cell.fg == first.fg && cell.modifier == first.modifier;
            // Lines are drawn cell by cell, but for those that go straight on.
            let joins = match kind {
                Shape::Lines(ends) => ends == [true, true, false, false],
                _ => true,
            };
            same && joins && shape(cell.symbol()) == kind
        };
        let mut count = cells.iter().skip(from).take_while(alike).count().max(1);
        // A wide letter has the next cell, too.
        if kind == Shape::Text {
            count = text_columns(cells, from, count);
        }
        let place = Place { left: MARGIN + columns(from), top, width: columns(count) };
        match kind {
            Shape::Nothing => {}
            Shape::Column(eighths) => {
                let height = CELL_HEIGHT * eighths / 8.0;
                place.fill(image, color(first), (CELL_HEIGHT - height, height), 1.0);
            }
            // Bars of neighbouring rows stand apart.
            Shape::Bar(opacity) => {
                place.fill(image, color(first), (2.0, CELL_HEIGHT - 4.0), opacity);
            }
            Shape::Lines(ends) => place.lines(image, color(first), ends),
            Shape::Text => {
                let text: String =
                    cells.iter().skip(from).take(count).map(|cell| cell.symbol()).collect();
                let is_bold = first.modifier.contains(Modifier::BOLD);
                place.text(image, color(first), text.trim_end(), is_bold);
            }
        }
        from += count;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred columns")]
fn columns(count: usize) -> f64 {
    count as f64 * CELL_WIDTH
}

/// How many columns texts of one look take, with what is behind wide letters.
fn text_columns(cells: &[&Cell], from: usize, count: usize) -> usize {
    let last = cells.get(from + count - 1).map_or(1, |cell| Span::raw(cell.symbol()).width());
    (count + last.max(1) - 1).min(cells.len() - from)
}

struct Place {
    left: f64,
    top: f64,
    width: f64,
}

impl Place {
    /// `rows` are where it begins below the top of the cell, and how high it is.
    fn fill(&self, image: &mut String, color: &str, rows: (f64, f64), opacity: f64) {
        let Self { left, top, width } = self;
        let (top, height) = (top + rows.0, rows.1);
        let _ = writeln!(
            image,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{color}\" fill-opacity=\"{opacity}\"/>"
        );
    }

    fn lines(&self, image: &mut String, color: &str, ends: [bool; 4]) {
        let Self { left, top, width } = self;
        let (middle_x, middle_y) = (left + CELL_WIDTH / 2.0, top + CELL_HEIGHT / 2.0);
        let mut path = String::new();
        let [to_left, to_right, to_top, to_bottom] = ends;
        if to_left || to_right {
            let from = if to_left { *left } else { middle_x };
            let to = if to_right { left + width } else { middle_x };
            let _ = write!(path, "M{from:.1} {middle_y:.1}H{to:.1}");
        }
        if to_top || to_bottom {
            let from = if to_top { *top } else { middle_y };
            let to = if to_bottom { top + CELL_HEIGHT } else { middle_y };
            let _ = write!(path, "M{middle_x:.1} {from:.1}V{to:.1}");
        }
        let _ = writeln!(image, "<path d=\"{path}\" stroke=\"{color}\" stroke-opacity=\"0.6\"/>");
    }

    fn text(&self, image: &mut String, color: &str, text: &str, is_bold: bool) {
        let (left, base) = (self.left, self.top + BASE);
        let length = columns(Span::raw(text).width());
        let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            image,
            "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\" fill=\"{color}\"{weight}>{text}</text>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn shapes_and_texts_are_joined() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 12, 1));
        let green = Style::new().fg(Color::Green);
        frame.set_string(0, 0, "\u{256d}\u{2500}\u{2500}a<b \u{2588}\u{2588}\u{2592}", green);
        let image = svg(&frame);
        assert_eq!(image.matches("<path").count(), 2, "{image}");
        // The background, the full cells and the half opaque one.
        assert_eq!(image.matches("<rect").count(), 3, "{image}");
        assert!(image.contains("width=\"16.8\" height=\"18.0\" fill=\"#3fb950\""), "{image}");
        assert!(image.contains("textLength=\"25.2\""), "{image}");
        assert!(image.contains(">a&lt;b</text>"), "{image}");
    }

    #[test]
    fn a_wide_letter_takes_two_columns() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 6, 1));
        frame.set_string(0, 0, "\u{7968}ab", Style::new());
        let image = svg(&frame);
        assert_eq!(image.matches("<text").count(), 2, "{image}");
        assert!(image.contains("x=\"12.0\" y=\"25.5\" textLength=\"16.8\""), "{image}");
        assert!(image.contains("x=\"28.8\" y=\"25.5\" textLength=\"16.8\""), "{image}");
    }
}
