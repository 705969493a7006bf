//! The content of each panel, line by line.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::shade;
use ratatui::text::{Line, Span};
use seckill_tools::sale_info::SaleInfo;

use crate::history::{History, TRIES};
use crate::reading::{Reading, Stream, Voucher};
use crate::words::{number, rate, signed};

const NAME_WIDTH: usize = 14;
/// Left, held, sold, total and buyers.
const NUMBER_WIDTH: usize = 10;
/// The same where a narrow terminal has room for those who wait, too.
const NUMBER_WIDTH_MIN: usize = 8;
const STATE_WIDTH: usize = 11;
/// The legend's.
const BAR_WIDTH_MIN: usize = 20;

/// What the parts of a bar are made of.
const LEFT: (&str, Color) = (shade::DARK, Color::Green);
const HELD: (&str, Color) = (shade::MEDIUM, Color::Yellow);
const SOLD: (&str, Color) = (shade::LIGHT, Color::Blue);

fn faint() -> Style {
    Style::new().fg(Color::DarkGray)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A text in this many columns, cut if it is longer.
fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for letter in text.chars() {
        let longer = format!("{fitted}{letter}");
        if Span::raw(&longer).width() > width {
            break;
        }
        fitted = longer;
    }
    let missing = width.saturating_sub(Span::raw(&fitted).width());
    fitted + &" ".repeat(missing)
}

/// A figure of a voucher; none where it has no such figure.
type Figure = fn(&SaleInfo) -> Option<i64>;

pub fn vouchers(vouchers: &[Voucher], width: usize) -> Vec<Line<'static>> {
    let mut columns: Vec<(&str, Figure)> = vec![
        ("left", |info| info.left),
        ("held", |info| info.held),
        ("sold", |info| info.sold),
        ("total", |info| info.total),
        ("buyers", |info| info.buyers),
    ];
    if vouchers.iter().any(|voucher| voucher.info.waiting > Some(0)) {
        columns.push(("waiting", |info| info.waiting));
    }
    let others = |number_width| NAME_WIDTH + columns.len() * number_width + STATE_WIDTH;
    let number_width = match width < others(NUMBER_WIDTH) + BAR_WIDTH_MIN {
        true if columns.len() > 5 => NUMBER_WIDTH_MIN,
        _ => NUMBER_WIDTH,
    };
    let bar_width = width.saturating_sub(others(number_width)).max(BAR_WIDTH_MIN);
    let figure = |text: &str| format!(" {text:>width$}", width = number_width - 1);
    let mut head = vec![Span::raw(fit("", NAME_WIDTH))];
    let mut legend_width = 0;
    for (part, name) in [(LEFT, " left "), (HELD, " held "), (SOLD, " sold")] {
        head.push(Span::styled(part.0, Style::new().fg(part.1)));
        head.push(Span::raw(name));
        legend_width += name.len() + 1;
    }
    let mut numbers = " ".repeat(bar_width.saturating_sub(legend_width));
    for (name, _) in &columns {
        numbers += &figure(name);
    }
    head.push(Span::raw(numbers + "  state"));
    let mut lines = vec![Line::from(head).style(faint())];
    for voucher in vouchers {
        let mut spans = vec![Span::styled(fit(&voucher.name, NAME_WIDTH - 1) + " ", bold())];
        spans.extend(bar(voucher, bar_width));
        for (_, part) in &columns {
            spans.push(Span::raw(figure(&signed(part(&voucher.info)))));
        }
        let color = match voucher.info.state.as_str() {
            "open" => Color::Green,
            "pending" => Color::Yellow,
            "ended" => Color::DarkGray,
            _ => Color::Red,
        };
        spans.push(Span::styled(format!("  {}", voucher.info.state), Style::new().fg(color)));
        lines.push(Line::from(spans));
    }
    if vouchers.is_empty() {
        lines.push(Line::styled("none: no stock key was found", faint()));
    }
    lines
}

/// The parts of the total that are left, held and sold. An unmanaged voucher has no total: each of
/// its buyers counts as one sold unit.
fn bar(voucher: &Voucher, width: usize) -> Vec<Span<'static>> {
    let positive = |part: Option<i64>| part.map_or(0, |part| u64::try_from(part).unwrap_or(0));
    let (left, held) = (positive(voucher.info.left), positive(voucher.info.held));
    let sold = positive(if voucher.info.managed { voucher.info.sold } else { voucher.info.buyers });
    let total = u128::from(left) + u128::from(held) + u128::from(sold);
    // What is there at all has a column, so that the last unit is seen.
    let columns = |part: u64| match u128::from(part) * width as u128 {
        0 => 0,
        wide => usize::try_from(wide / total.max(1)).unwrap_or(width).max(1),
    };
    let left_columns = columns(left).min(width);
    let held_columns = columns(held).min(width - left_columns);
    let rest = if total == 0 { 0 } else { width - left_columns - held_columns };
    // Where nothing was sold, what rounding has left over is no column of that.
    let (left_columns, held_columns, rest) = match (sold, left) {
        (0, 0) => (0, held_columns + rest, 0),
        (0, _) => (left_columns + rest, held_columns, 0),
        _ => (left_columns, held_columns, rest),
    };
    let blank = width - left_columns - held_columns - rest;
    let part = |part: (&str, Color), columns| {
        Span::styled(part.0.repeat(columns), Style::new().fg(part.1))
    };
    vec![
        part(LEFT, left_columns),
        part(HELD, held_columns),
        part(SOLD, rest),
        Span::raw(" ".repeat(blank)),
    ]
}

/// A name, its rate per second, and its sum.
fn counted(name: &str, second: &str, all: &str, width: usize, style: Style) -> Line<'static> {
    let column = if width < 33 { 9 } else { 11 };
    let name = fit(name, width.saturating_sub(2 * column));
    Line::from(vec![
        Span::styled(name, style),
        Span::styled(format!("{second:>column$}"), bold()),
        Span::raw(format!("{all:>column$}")),
    ])
}

/// A counter's line.
fn row(history: &History, name: &str, counter: &str, width: usize, color: Color) -> Line<'static> {
    let all = history.now().and_then(|now| now.counters.get(counter).copied());
    let all = all.map_or("-".to_owned(), number);
    counted(name, &rate(history.rate(counter)), &all, width, Style::new().fg(color))
}

/// A line with a figure of the moment.
fn gauge(name: &str, value: &str, width: usize) -> Line<'static> {
    let name = fit(name, width.saturating_sub(value.len()));
    Line::from(vec![Span::raw(name), Span::styled(value.to_owned(), bold())])
}

pub fn tries(history: &History, width: usize) -> Vec<Line<'static>> {
    let colors = [
        Color::Green,
        Color::Red,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::LightYellow,
        Color::Cyan,
    ];
    let mut lines = Vec::new();
    for ((name, counter), color) in TRIES.into_iter().zip(colors) {
        if counter == "tries_waiting" && !history.has_line() {
            continue;
        }
        lines.push(row(history, name, counter, width, color));
    }
    lines
}

pub fn orders(history: &History, width: usize) -> Vec<Line<'static>> {
    let count = |name, counter| row(history, name, counter, width, Color::Reset);
    let now = |counter: &str| history.now().and_then(|now| now.counters.get(counter).copied());
    let mut lines =
        vec![gauge("holds open", &now("holds_open").map_or("-".to_owned(), number), width)];
    if history.has_line() {
        lines.push(count("served", "orders_served"));
    }
    lines.extend([
        count("confirmed", "orders_confirmed"),
        count("cancelled", "orders_cancelled"),
        count("expired", "orders_expired"),
        count("rejected", "orders_rejected"),
        count("drawn", "prizes_drawn"),
    ]);
    lines
}

pub fn locks(history: &History, width: usize) -> Vec<Line<'static>> {
    let count = |name, counter| row(history, name, counter, width, Color::Reset);
    let now = |counter: &str| history.now().and_then(|now| now.counters.get(counter).copied());
    let mean = match history.mean_wait_ms() {
        Some(mean) => format!("{mean:.1} ms"),
        None => "-".to_owned(),
    };
    vec![
        gauge("waiting in line", &now("locks_waiting").map_or("-".to_owned(), number), width),
        count("acquired", "locks_acquired"),
        count("refused", "locks_refused"),
        count("released", "locks_released"),
        gauge("mean wait", &mean, width),
    ]
}

/// A line a consumer group, one a stream that has none.
pub fn streams(now: &Reading) -> Vec<Line<'static>> {
    let text = format!(
        "{:<31}{:>11}  {:<22}{:>9}{:>9}{:>11}",
        "stream", "entries", "group", "lag", "pending", "consumers"
    );
    let mut lines = vec![Line::styled(text, faint())];
    for stream in &now.streams {
        lines.extend(groups(stream));
    }
    if now.streams.is_empty() {
        lines.push(Line::styled("none", faint()));
    }
    lines
}

fn groups(stream: &Stream) -> Vec<Line<'static>> {
    let name = Span::styled(fit(&stream.name, 30) + " ", bold());
    let entries = Span::raw(format!("{:>11}  ", number(stream.entries)));
    if stream.groups.is_empty() {
        return vec![Line::from(vec![name, entries, Span::styled("no group", faint())])];
    }
    let line = |(index, group): (usize, &crate::reading::Group)| {
        let (name, entries) = match index {
            0 => (name.clone(), entries.clone()),
            _ => (Span::raw(" ".repeat(31)), Span::raw(" ".repeat(13))),
        };
        let lag = group.lag.map_or("?".to_owned(), number);
        let color = if group.lag == Some(0) { Color::Green } else { Color::Yellow };
        let (pending, consumers) = (number(group.pending), number(group.consumers));
        Line::from(vec![
            name,
            entries,
            Span::raw(fit(&group.name, 22)),
            Span::styled(format!("{lag:>9}"), Style::new().fg(color)),
            Span::raw(format!("{pending:>9}{consumers:>11}")),
        ])
    };
    stream.groups.iter().enumerate().map(line).collect()
}
