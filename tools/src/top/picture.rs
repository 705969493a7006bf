//! A frame as a picture for the documentation. Borders, bars and the chart are drawn, so that it
//! looks alike in every font.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

/// A cell, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 12.0;

pub fn picture(frame: &Buffer) -> String {
    let (columns, rows) = (f64::from(frame.area().width), f64::from(frame.area().height));
    let (width, height) = (columns * WIDTH + 2.0 * MARGIN, rows * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n"
    );
    for row in 0..frame.area().height {
        let mut run = (0, String::new(), Style::default());
        let mut drawn_to = 0;
        for column in 0..frame.area().width {
            let cell = &frame[(column, row)];
            if column < drawn_to {
                continue;
            }
            let (x, y) = place(column, row);
            let symbol = cell.symbol();
            let is_alike =
                |at: &u16| (frame[(*at, row)].symbol(), frame[(*at, row)].fg) == (symbol, cell.fg);
            let alike = (column..frame.area().width).take_while(is_alike).last();
            let right = place(alike.unwrap_or(column) + 1, row).0;
            if let Some(drawn) = shape(symbol, [x, right, y], color(cell.fg)) {
                drawn_to = alike.map_or(0, |last| last + 1);
                svg += &drawn;
                svg += &words(&mut run, row);
            } else if symbol == " " && !run.1.ends_with(|letter| letter != ' ') {
                svg += &words(&mut run, row);
            } else {
                if run.2 != cell.style() || run.1.is_empty() {
                    svg += &words(&mut run, row);
                    run = (column, String::new(), cell.style());
                }
                run.1 += symbol;
            }
        }
        svg += &words(&mut run, row);
    }
    svg + "</svg>\n"
}

fn place(column: u16, row: u16) -> (f64, f64) {
    (MARGIN + f64::from(column) * WIDTH, MARGIN + f64::from(row) * HEIGHT)
}

/// The words that were gathered, where they begin; then there are none.
fn words(run: &mut (u16, String, Style), row: u16) -> String {
    let text = std::mem::take(&mut run.1);
    let text = text.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let (x, y) = place(run.0, row);
    let length = Span::raw(text).width() as f64 * WIDTH;
    let bold = run.2.add_modifier.contains(Modifier::BOLD);
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let fill = color(run.2.fg.unwrap_or_default());
    format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}>{text}</text>\n",
        y + 13.5
    )
}

/// The part of a border, of a bar or of the chart in some cells that are alike.
fn shape(symbol: &str, [x, right, y]: [f64; 3], fill: &str) -> Option<String> {
    let bottom = y + HEIGHT;
    let (middle, center) = (x + WIDTH / 2.0, y + HEIGHT / 2.0);
    let line =
        |path: String| Some(format!("<path d=\"{path}\" stroke=\"{fill}\" fill=\"none\"/>\n"));
    let block = |part: f64, opacity: f64| {
        let (top, height) = (bottom - HEIGHT * part, HEIGHT * part);
        let mut rect = format!("<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" ", right - x);
        let _ = write!(rect, "height=\"{height:.1}\" fill=\"{fill}\" opacity=\"{opacity}\"/>");
        Some(rect + "\n")
    };
    match symbol {
        "\u{2500}" => line(format!("M{x:.1} {center:.1}H{right:.1}")),
        "\u{2502}" => line(format!("M{middle:.1} {y:.1}V{bottom:.1}")),
        "\u{256d}" => line(format!("M{right:.1} {center:.1}H{middle:.1}V{bottom:.1}")),
        "\u{256e}" => line(format!("M{x:.1} {center:.1}H{middle:.1}V{bottom:.1}")),
        "\u{2570}" => line(format!("M{right:.1} {center:.1}H{middle:.1}V{y:.1}")),
        "\u{256f}" => line(format!("M{x:.1} {center:.1}H{middle:.1}V{y:.1}")),
        "\u{2593}" => block(0.7, 1.0),
        "\u{2592}" => block(0.7, 0.8),
        "\u{2591}" => block(0.7, 0.6),
        _ => {
            let letter = symbol.chars().next().filter(|l| ('\u{2581}'..='\u{2588}').contains(l))?;
            block(f64::from(u32::from(letter) - 0x2580) / 8.0, 1.0)
        }
    }
}

fn color(color: Color) -> &'static str {
    match color {
        Color::Green => "#3fb950",
        Color::Red => "#f85149",
        Color::Yellow => "#d29922",
        Color::LightYellow => "#e3b341",
        Color::LightBlue => "#79c0ff",
        Color::Magenta => "#bc8cff",
        Color::Cyan => "#39c5cf",
        Color::DarkGray => "#7d8590",
        _ => "#d0d7de",
    }
}
