//! The content of each panel, line by line.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::shade;
use ratatui::text::{Line, Span};
use seckill_tools::sale_info::SaleInfo;

use crate::history::{History, TRIES};
use crate::reading::{Group, Reading, Stream, Voucher};
use crate::table::GivesWay::{Cut, Drop};
use crate::table::{GAP, GivesWay, fit_columns, fit_name, pad, row_width, width_of};
use crate::words::{self, countdown, number, rate, signed, uptime};

/// A bar shorter than this says nothing.
const BAR_WIDTH_MIN: usize = 10;

/// What a part of a bar is made of.
type Part = (&'static str, Color);
const LEFT: Part = (shade::DARK, Color::Green);
const HELD: Part = (shade::MEDIUM, Color::Yellow);
const SOLD: Part = (shade::LIGHT, READABLE_BLUE);
/// Plain blue is hard to read on black.
const READABLE_BLUE: Color = Color::LightBlue;

fn faint() -> Style {
    Style::new().fg(Color::DarkGray)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A column with a figure: its heading, the part of the bar that it explains, its texts.
struct Figures {
    name: &'static str,
    part: Option<Part>,
    texts: Vec<String>,
}

impl Figures {
    fn new(name: &'static str, texts: impl Iterator<Item = String>) -> Self {
        Self { name, part: None, texts: texts.collect() }
    }

    fn width(&self) -> usize {
        let mark = if self.part.is_some() { 2 } else { 0 };
        let texts = self.texts.iter().map(|text| width_of(text)).max().unwrap_or(0);
        texts.max(self.name.len() + mark)
    }
}

/// The columns of vouchers, from left to right, and in which order they give way: the bar is the
/// last one that goes.
const NAME: usize = 0;
const BAR: usize = 1;
const FIGURES: usize = 2;
const GIVE_WAY: [GivesWay; 10] = [
    Cut(NAME, 24),
    Drop(FIGURES + 4),
    Drop(FIGURES + 3),
    Cut(NAME, 12),
    Drop(FIGURES + 1),
    Drop(FIGURES + 2),
    Drop(FIGURES + 5),
    Drop(FIGURES),
    Drop(BAR),
    Cut(NAME, 1),
];

pub fn vouchers(now: &Reading, width: usize) -> Vec<Line<'static>> {
    let vouchers = now.vouchers.as_slice();
    if vouchers.is_empty() {
        return vec![Line::styled("none: no stock key was found", faint())];
    }
    let figures = figures_of(vouchers);
    let states: Vec<String> = vouchers.iter().map(|it| state_of(it, now.clock_ms)).collect();
    let names = vouchers.iter().map(|voucher| width_of(&voucher.name));
    let mut widths = vec![names.max().unwrap_or(0).max(1), BAR_WIDTH_MIN];
    widths.extend(figures.iter().map(Figures::width));
    let states_width = states.iter().map(|state| width_of(state)).max();
    widths.push(states_width.unwrap_or(0).max("state".len()));
    // Nobody waits: that column takes nothing.
    if figures[5].texts.iter().all(|text| matches!(text.as_str(), "0" | "-")) {
        widths[FIGURES + 5] = 0;
    }
    fit_columns(&mut widths, &GIVE_WAY, width);
    if widths[BAR] > 0 {
        widths[BAR] += width.saturating_sub(row_width(&widths));
    } else {
        widths[NAME] += width.saturating_sub(row_width(&widths));
    }
    let gap = Span::raw(" ".repeat(GAP));
    let mut head = vec![Span::raw(pad("", widths[NAME]))];
    if widths[BAR] > 0 {
        head.extend([gap.clone(), Span::raw(pad("", widths[BAR]))]);
    }
    for (figures, width) in figures.iter().zip(&widths[FIGURES..]).filter(|(_, width)| **width > 0)
    {
        let part = figures.part.filter(|_| widths[BAR] > 0);
        let used = figures.name.len() + if part.is_some() { 2 } else { 0 };
        head.push(Span::raw(" ".repeat(GAP + width - used)));
        if let Some((mark, color)) = part {
            head.push(Span::styled(format!("{mark} "), Style::new().fg(color)));
        }
        head.push(Span::raw(figures.name));
    }
    head.extend([gap.clone(), Span::raw("state")]);
    let mut lines = vec![Line::from(head).style(faint())];
    for (row, voucher) in vouchers.iter().enumerate() {
        let mut spans = vec![Span::styled(fit_name(&voucher.name, widths[NAME]), bold())];
        if widths[BAR] > 0 {
            spans.push(gap.clone());
            spans.extend(bar(voucher, widths[BAR]));
        }
        for (figures, width) in figures.iter().zip(&widths[FIGURES..]) {
            if *width > 0 {
                spans.push(Span::raw(format!("  {:>width$}", figures.texts[row])));
            }
        }
        let color = Style::new().fg(state_color(&voucher.info.state));
        spans.extend([gap.clone(), Span::styled(states[row].clone(), color)]);
        lines.push(Line::from(spans));
    }
    lines
}

/// The state, and the time left until it changes, or how long it took to sell everything.
fn state_of(voucher: &Voucher, clock_ms: Option<i64>) -> String {
    let info = &voucher.info;
    let until = |moment: Option<i64>| Some(moment? - clock_ms?).filter(|ms| *ms > 0);
    let time = match (voucher.sold_out, until(info.begin).or(until(info.end))) {
        (Some(sold_out), _) => words::sold_out(sold_out),
        (None, Some(ms)) => countdown(ms),
        (None, None) => return info.state.clone(),
    };
    format!("{} {time}", info.state)
}

fn state_color(state: &str) -> Color {
    match state {
        "open" => Color::Green,
        "scheduled" => Color::Yellow,
        "ended" => Color::DarkGray,
        _ => Color::Red,
    }
}

/// A figure of a voucher; none where it has no such figure.
type Figure = fn(&SaleInfo) -> Option<i64>;

fn figures_of(vouchers: &[Voucher]) -> [Figures; 6] {
    let columns: [(&'static str, Option<Part>, Figure); 6] = [
        ("left", Some(LEFT), |info| info.left),
        ("held", Some(HELD), |info| info.held),
        ("sold", Some(SOLD), |info| info.sold),
        ("total", None, |info| info.total),
        ("buyers", None, |info| info.buyers),
        ("waiting", None, |info| info.waiting),
    ];
    columns.map(|(name, part, figure)| {
        let texts = vouchers.iter().map(|voucher| signed(figure(&voucher.info)));
        Figures { part, ..Figures::new(name, texts) }
    })
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
    let part = |part: Part, columns| Span::styled(part.0.repeat(columns), Style::new().fg(part.1));
    vec![
        part(LEFT, left_columns),
        part(HELD, held_columns),
        part(SOLD, rest),
        Span::raw(" ".repeat(blank)),
    ]
}

/// A row of a panel of counters: a name, its rate per second, and its sum or its value now.
pub struct Count {
    name: &'static str,
    color: Color,
    rate: Option<String>,
    value: String,
}

impl Count {
    /// A counter since the start of the module.
    fn all(history: &History, name: &'static str, counter: &str) -> Self {
        let (rate, value) = (Some(rate(history.rate(counter))), value_of(history, counter));
        Self { name, color: Color::Reset, rate, value }
    }

    /// A figure of the moment.
    fn now(name: &'static str, value: String) -> Self {
        Self { name, color: Color::Reset, rate: None, value }
    }

    /// Whether it says that nothing has happened.
    pub fn is_zero(&self) -> bool {
        matches!(self.value.as_str(), "0" | "-")
    }
}

fn value_of(history: &History, counter: &str) -> String {
    let value = history.now().and_then(|now| now.counters.get(counter).copied());
    value.map_or("-".to_owned(), number)
}

/// The widths of names, rates and values.
fn count_widths(counts: &[Count]) -> [usize; 3] {
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    [
        widest(&mut counts.iter().map(|count| count.name.len())),
        // Room for a rate that grows, so that its column stays where it is.
        widest(&mut counts.iter().filter_map(|count| Some(count.rate.as_ref()?.len().max(6)))),
        widest(&mut counts.iter().map(|count| count.value.len().max(7))),
    ]
}

/// The columns that these rows need, with or without rates.
pub fn counts_width(counts: &[Count], has_rates: bool) -> usize {
    let [name, rate, value] = count_widths(counts);
    row_width(&[name, if has_rates { rate } else { 0 }, value])
}

pub fn counts(counts: &[Count], width: usize) -> Vec<Line<'static>> {
    let widths = count_widths(counts);
    let mut shown = widths;
    fit_columns(&mut shown, &[Drop(1), Cut(2, widths[2]), Cut(0, 1)], width);
    shown[0] += width.saturating_sub(row_width(&shown));
    let line = |count: &Count| {
        let mut spans =
            vec![Span::styled(fit_name(count.name, shown[0]), Style::new().fg(count.color))];
        if shown[1] > 0 {
            let rate = count.rate.as_deref().unwrap_or_default();
            spans.push(Span::styled(format!("  {rate:>width$}", width = shown[1]), bold()));
        }
        let style = if count.rate.is_none() { bold() } else { Style::new() };
        spans.push(Span::styled(format!("  {:>width$}", count.value, width = shown[2]), style));
        Line::from(spans)
    };
    counts.iter().map(line).collect()
}

pub fn tries(history: &History) -> Vec<Count> {
    let colors = [
        Color::Green,
        Color::Red,
        Color::Yellow,
        READABLE_BLUE,
        Color::Magenta,
        Color::LightYellow,
        Color::Cyan,
    ];
    let shown = TRIES.into_iter().zip(colors);
    let shown = shown.filter(|((_, counter), _)| *counter != "tries_waiting" || history.has_line());
    let count = |((name, counter), color)| Count { color, ..Count::all(history, name, counter) };
    shown.map(count).collect()
}

pub fn orders(history: &History) -> Vec<Count> {
    let count = |name, counter| Count::all(history, name, counter);
    let mut counts = vec![Count::now("holds open", value_of(history, "holds_open"))];
    if history.has_line() {
        counts.push(count("promoted", "orders_promoted"));
    }
    counts.extend([
        count("confirmed", "orders_confirmed"),
        count("cancelled", "orders_cancelled"),
        count("expired", "orders_expired"),
        count("rejected", "orders_rejected"),
        count("drawn", "prizes_drawn"),
    ]);
    counts
}

pub fn locks(history: &History) -> Vec<Count> {
    let count = |name, counter| Count::all(history, name, counter);
    let mean = history.mean_wait_ms().map_or("-".to_owned(), |mean| format!("{mean:.1} ms"));
    vec![
        Count::now("in the queue", value_of(history, "locks_waiting")),
        count("acquired", "locks_acquired"),
        count("refused", "locks_refused"),
        count("released", "locks_released"),
        Count::now("mean wait", mean),
    ]
}

/// The consumers of a group that has none, though there is something to read.
const NO_WORKER: &str = "no worker";
/// The beginning of the same where it has some, and none of them has read for a while.
const SILENT: &str = "silent ";

/// One row per consumer group, one per stream without groups: name, entries, group, lag, pending,
/// consumers.
type StreamRow = [String; 6];

pub fn streams(now: &Reading, width: usize) -> Vec<Line<'static>> {
    const HEAD: [&str; 6] = ["stream", "entries", "group", "lag", "pending", "consumers"];
    if now.streams.is_empty() {
        return vec![Line::styled("none", faint())];
    }
    let rows: Vec<StreamRow> = now.streams.iter().flat_map(stream_rows).collect();
    let mut widths = [0, 1, 2, 3, 4, 5].map(|column| {
        let texts = rows.iter().map(|row| width_of(&row[column]));
        texts.max().unwrap_or(0).max(HEAD[column].len())
    });
    let steps = [Cut(0, 16), Cut(2, 8), Drop(1), Drop(5), Cut(0, 4), Cut(2, 2), Drop(2)];
    fit_columns(&mut widths, &steps, width);
    widths[0] += width.saturating_sub(row_width(&widths));
    let line = |texts: [&str; 6]| -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for (column, text) in texts.into_iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
            let (width, is_name) = (widths[column], matches!(column, 0 | 2));
            let text = if is_name { fit_name(text, width) } else { format!("{text:>width$}") };
            let gap = if column == 0 { "" } else { "  " };
            let style = match (column, texts[column]) {
                (0, _) => bold(),
                (3, "0") => Style::new().fg(Color::Green),
                (3, _) => Style::new().fg(Color::Yellow),
                (5, text) if text == NO_WORKER || text.starts_with(SILENT) => {
                    Style::new().fg(Color::Red)
                }
                _ => Style::new(),
            };
            spans.push(Span::styled(format!("{gap}{text}"), style));
        }
        spans
    };
    let plain = |span: Span<'static>| span.style(Style::new());
    let head = Line::from(line(HEAD).into_iter().map(plain).collect::<Vec<_>>()).style(faint());
    let rows = rows.iter().map(|row| Line::from(line(row.each_ref().map(String::as_str))));
    std::iter::once(head).chain(rows).collect()
}

fn stream_rows(stream: &Stream) -> Vec<StreamRow> {
    let (name, entries) = (stream.name.clone(), number(stream.entries));
    let Some((first, others)) = stream.groups.split_first() else {
        let none = String::new;
        return vec![[name, entries, "no group".to_owned(), none(), none(), none()]];
    };
    let row = |name, entries, group: &Group| {
        let lag = group.lag.map_or("?".to_owned(), number);
        let consumers = match group.silent() {
            Some(silent) => format!("{SILENT}{}", uptime(silent.as_secs())),
            None if group.consumers == 0 && group.may_lag() => NO_WORKER.to_owned(),
            None => number(group.consumers),
        };
        let pending = number(group.pending);
        [name, entries, group.name.clone(), lag, pending, consumers]
    };
    let mut rows = vec![row(name, entries, first)];
    rows.extend(others.iter().map(|group| row(String::new(), String::new(), group)));
    rows
}
