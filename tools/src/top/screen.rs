//! The frame: where its panels are. Drawn from readings alone, whoever shows it.

use indicatif::BinaryBytes;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Padding, Paragraph, RenderDirection, Sparkline};

use crate::history::{History, Rates};
use crate::panels::{self, Count};
use crate::reading::Reading;
use crate::table::GivesWay::{Cut, Drop};
use crate::table::{GAP, fit_columns, fit_name, fit_sentence, row_width, width_of};
use crate::words::{clock, number, uptime};

/// What a frame shows.
#[derive(Default)]
pub struct View {
    pub history: History,
    /// Vouchers and rows of streams that are scrolled past.
    pub scrolled: [usize; 2],
    /// The panel that the arrows scroll.
    pub focus: Panel,
    /// Why there is no newer reading.
    pub trouble: Option<String>,
    /// Whether somebody can press keys.
    pub has_keys: bool,
}

/// A panel that scrolls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panel {
    #[default]
    Vouchers,
    Streams,
}

/// Rows of the chart with its borders; where there is room, more.
const CHART_HEIGHT: u16 = 5;
const CHART_HEIGHT_MAX: u16 = 10;
/// Rows of a panel that scrolls, at least: its borders, its head, and one or two lines.
const PANEL_HEIGHT_MIN: u16 = 4;
const STREAMS_HEIGHT_MIN: u16 = 5;
/// Columns that a panel's borders and their distance take.
const BORDERS_WIDTH: u16 = 4;

/// The rows of each part of a frame.
struct Heights {
    vouchers: u16,
    counts: u16,
    chart: u16,
    streams: u16,
    /// Whether the counters that are 0 are shown.
    has_zeros: bool,
}

impl Heights {
    /// Vouchers come first: rows of zeros give way to them, then the counters while there is a
    /// curve to see, else the chart, and then streams scroll.
    fn of(
        rows: u16,
        vouchers: u16,
        streams: u16,
        counts: &[Vec<Count>; 3],
        has_curve: bool,
    ) -> Self {
        let highest = |rows: &mut dyn Iterator<Item = usize>| {
            u16::try_from(rows.max().unwrap_or(0) + 2).unwrap_or(u16::MAX)
        };
        let all = highest(&mut counts.iter().map(Vec::len));
        let is_said = |count: &&Count| !count.is_zero();
        let short = highest(&mut counts.iter().map(|rows| rows.iter().filter(is_said).count()));
        let short = short.max(3);
        let one = match has_curve {
            true => [(0, CHART_HEIGHT, false), (0, CHART_HEIGHT, false)],
            false => [(all, 0, true), (short, 0, false)],
        };
        let both = [(all, CHART_HEIGHT, true), (short, CHART_HEIGHT, false)];
        for (counts, chart, has_zeros) in both.into_iter().chain(one) {
            let wanted = vouchers.saturating_add(streams).saturating_add(counts + chart);
            let Some(spare) = rows.checked_sub(wanted) else { continue };
            let chart = match chart {
                0 => 0,
                chart => (chart + spare).min(CHART_HEIGHT_MAX),
            };
            let vouchers = rows - counts - chart - streams;
            return Self { vouchers, counts, chart, streams, has_zeros };
        }
        let one = if has_curve { CHART_HEIGHT } else { short };
        let one = if rows < one + PANEL_HEIGHT_MIN { 0 } else { one };
        let (counts, chart) = if has_curve { (0, one) } else { (one, 0) };
        let free = rows - one;
        let streams = streams.min(free.saturating_sub(vouchers).max(STREAMS_HEIGHT_MIN));
        let streams = if free < streams + PANEL_HEIGHT_MIN { 0 } else { streams };
        Self { vouchers: free - streams, counts, chart, streams, has_zeros: false }
    }
}

pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    let Some(now) = view.history.now() else {
        let trouble = view.trouble.as_deref().unwrap_or("connecting");
        let line = fit_sentence(&format!(" seckill-top  {trouble}"), usize::from(area.width));
        frame.render_widget(Paragraph::new(line), area);
        return;
    };
    let width = usize::from(area.width.saturating_sub(BORDERS_WIDTH));
    let history = &view.history;
    let (vouchers, streams) = (panels::vouchers(now, width), panels::streams(now, width));
    let mut counts = [panels::tries(history), panels::orders(history), panels::locks(history)];
    let height = |lines: &[Line<'_>]| u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let rows = area.height.saturating_sub(2);
    let sells = history.rates(usize::from(area.width)).any(|rates| rates.tries > 0);
    let heights = Heights::of(rows, height(&vouchers), height(&streams), &counts, sells);
    if !heights.has_zeros {
        counts.iter_mut().for_each(|rows| rows.retain(|count| !count.is_zero()));
    }
    let [header, vouchers_area, counts_area, chart, streams_area, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(heights.vouchers),
        Constraint::Length(heights.counts),
        Constraint::Length(heights.chart),
        Constraint::Length(heights.streams),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_header(frame, header, now);
    let mut left_out = String::new();
    if now.left_out > 0 {
        left_out = format!("and {} more, see --vouchers-max ", number(now.left_out as u64));
    }
    let [vouchers_past, streams_past] = view.scrolled;
    draw_scrolled(frame, vouchers_area, ["Vouchers", &left_out], vouchers, vouchers_past);
    draw_counts(frame, counts_area, counts);
    draw_chart(frame, chart, view);
    draw_scrolled(frame, streams_area, ["Streams", ""], streams, streams_past);
    draw_footer(frame, footer, view, now);
}

/// Rows of each panel that scrolls, without its head.
pub fn scrolled_rows(now: &Reading, panel: Panel) -> usize {
    match panel {
        Panel::Vouchers => now.vouchers.len(),
        Panel::Streams => now.streams.iter().map(|stream| stream.groups.len().max(1)).sum(),
    }
}

fn block(title: &str) -> Block<'_> {
    let title = Span::styled(title, Style::new().add_modifier(Modifier::BOLD).fg(Color::Cyan));
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(Style::new().fg(Color::DarkGray))
        .padding(Padding::horizontal(1))
        .title(title)
}

/// What of the server fits into one line: the state of its process gives way to its place.
fn draw_header(frame: &mut Frame<'_>, area: Rect, now: &Reading) {
    let server = &now.server;
    let role = match (server.is_primary, server.is_cluster) {
        (true, false) => "primary",
        (false, false) => "replica",
        (true, true) => "primary of a cluster",
        (false, true) => "replica of a cluster",
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let parts = [
        ("seckill-top".to_owned(), bold.fg(Color::Cyan)),
        (server.place.clone(), Style::new()),
        (format!("{} {}", server.product, server.version), bold),
        (role.to_owned(), Style::new()),
        (format!("up {}", uptime(server.uptime_s)), Style::new()),
        (format!("{} commands/s", number(server.ops_per_s)), Style::new()),
        (BinaryBytes(server.memory_bytes).to_string(), Style::new()),
        (format!("{} clients", number(server.clients)), Style::new()),
        (now.clock_ms.map(clock).unwrap_or_default(), bold),
    ];
    let mut widths = parts.each_ref().map(|(text, _)| width_of(text));
    let width = usize::from(area.width.saturating_sub(2));
    let steps = [Drop(7), Drop(6), Drop(4), Drop(5), Cut(1, 12), Drop(3), Drop(2), Cut(1, 1)];
    fit_columns(&mut widths, &steps, width);
    // What changes all the time is at the right.
    let spare = width.saturating_sub(row_width(&widths));
    let right = (5..widths.len()).find(|at| widths[*at] > 0);
    let mut spans = vec![Span::raw(" ")];
    for (at, (text, style)) in parts.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
        let gap = if at == 0 { 0 } else { GAP } + if right == Some(at) { spare } else { 0 };
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(fit_name(text, widths[at]), *style));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Lines below a head, from the one that is scrolled to.
fn draw_scrolled(
    frame: &mut Frame<'_>,
    area: Rect,
    [name, more]: [&str; 2],
    mut lines: Vec<Line<'_>>,
    scrolled: usize,
) {
    let room = usize::from(area.height.saturating_sub(3));
    let count = lines.len().saturating_sub(1);
    let first = scrolled.min(count.saturating_sub(room));
    let last = count.min(first + room);
    let mut title = format!(" {name} {}-{last} of {count} {more}", first + 1);
    if count <= room {
        title = format!(" {name} {more}");
    }
    if lines.len() > 1 {
        lines.drain(1..=first);
    }
    draw_lines(frame, area, &title, lines);
}

/// The panels of counters, side by side. Where there is no room for all, rates of orders and locks
/// give way, and then whole panels.
fn draw_counts(frame: &mut Frame<'_>, area: Rect, counts: [Vec<Count>; 3]) {
    let titles = [" Tries, per second and total ", " Orders ", " Locks "];
    let mut shown: Vec<_> = titles.into_iter().zip(counts).collect();
    shown.retain(|(_, rows)| !rows.is_empty());
    let borders = usize::from(BORDERS_WIDTH);
    let widths = |shown: &[(&str, Vec<Count>)], has_rates: bool| -> Vec<usize> {
        let is_first = |at: usize| at == 0;
        let width = |(at, (title, rows)): (usize, &(&str, Vec<Count>))| {
            let title = if is_first(at) && !has_rates { 0 } else { title.len() - 2 };
            panels::counts_width(rows, has_rates || is_first(at)).max(title) + borders
        };
        shown.iter().enumerate().map(width).collect()
    };
    let width = usize::from(area.width);
    let mut wanted = widths(&shown, true);
    while wanted.iter().sum::<usize>() > width {
        wanted = widths(&shown, false);
        if wanted.iter().sum::<usize>() <= width || shown.len() < 2 {
            break;
        }
        shown.pop();
        wanted = widths(&shown, true);
    }
    let spare = width.saturating_sub(wanted.iter().sum()) / wanted.len().max(1);
    let last = wanted.len().saturating_sub(1);
    let constraint = |(at, wanted): (usize, &usize)| match at == last {
        true => Constraint::Fill(1),
        false => Constraint::Length(u16::try_from(wanted + spare).unwrap_or(u16::MAX)),
    };
    let areas = Layout::horizontal(wanted.iter().enumerate().map(constraint)).split(area);
    for ((title, rows), area) in shown.into_iter().zip(areas.iter()) {
        let width = usize::from(area.width.saturating_sub(BORDERS_WIDTH));
        draw_lines(frame, *area, title, panels::counts(&rows, width));
    }
}

fn draw_chart(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let columns = area.width.saturating_sub(BORDERS_WIDTH);
    let shown: Vec<&Rates> = view.history.rates(usize::from(columns)).collect();
    // The latest first: it is drawn at the right.
    let rates: Vec<u64> = shown.iter().rev().map(|rates| rates.tries).collect();
    let peak = rates.iter().copied().max().unwrap_or(0);
    let [last, peak] = [rates.first().copied().unwrap_or(0), peak].map(number);
    let total = view.history.tries_total().map_or("-".to_owned(), number);
    let title = format!(" Tries per second {last}, peak {peak}, total {total} ");
    let axis = |text: String| Line::styled(text, Style::new().fg(Color::DarkGray));
    let mut block = block(&title).title_bottom(axis(" now ".to_owned()).right_aligned());
    if let [first, .., last] = shown.as_slice() {
        let steps = u32::try_from(shown.len() - 1).unwrap_or(u32::MAX);
        let ago = last.at.duration_since(first.at) / steps * u32::from(columns.saturating_sub(1));
        block = block.title_bottom(axis(format!(" {} ago ", uptime(ago.as_secs()))));
    }
    let chart = Sparkline::default().data(rates).direction(RenderDirection::RightToLeft);
    frame.render_widget(chart.style(Style::new().fg(Color::Green)).block(block), area);
}

fn draw_lines(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines).block(block(title)), area);
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, view: &View, now: &Reading) {
    let keys = match (view.has_keys, view.focus) {
        (false, _) => "",
        (true, Panel::Vouchers) => "q quits, arrows scroll the vouchers, Tab: the streams",
        (true, Panel::Streams) => "q quits, arrows scroll the streams, Tab: the vouchers",
    };
    let (text, color) = match (&view.trouble, now.notes.as_slice()) {
        (Some(trouble), _) => (trouble.clone(), Color::Red),
        (None, []) => (keys.to_owned(), Color::DarkGray),
        (None, [note]) => (note.clone(), Color::Yellow),
        (None, [note, others @ ..]) => {
            (format!("{note} (and {} more notes)", others.len()), Color::Yellow)
        }
    };
    let text = fit_sentence(&format!(" {text}"), usize::from(area.width));
    frame.render_widget(Line::styled(text, Style::new().fg(color)), area);
}
