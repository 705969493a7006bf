//! The frame: where its panels are. Drawn from readings alone, whoever shows it.

use indicatif::BinaryBytes;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Padding, Paragraph, Sparkline};

use crate::history::History;
use crate::panels;
use crate::reading::Reading;
use crate::words::{number, uptime};

/// What a frame shows.
#[derive(Default)]
pub struct View {
    pub history: History,
    /// Vouchers that are scrolled past.
    pub scrolled: usize,
    /// Why there is no newer reading.
    pub trouble: Option<String>,
    /// What the keys do; none where there are no keys.
    pub keys: &'static str,
}

/// Rows of the panels of tries, orders and locks, with their borders. One more where orders wait.
const COUNTS_HEIGHT: u16 = 8;
const CHART_HEIGHT: u16 = 5;
/// Columns that a panel's borders and their distance take.
const BORDERS_WIDTH: u16 = 4;

pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    let Some(now) = view.history.now() else {
        let trouble = view.trouble.as_deref().unwrap_or("connecting");
        frame.render_widget(Paragraph::new(format!(" seckill-top  {trouble}")), area);
        return;
    };
    let streams = panels::streams(now);
    let wanted = u16::try_from(streams.len() + 2).unwrap_or(u16::MAX);
    let counts = COUNTS_HEIGHT + u16::from(view.history.has_line());
    // A short terminal does without the chart, and then without the streams.
    let chart = if area.height >= 24 { CHART_HEIGHT } else { 0 };
    let free = area.height.saturating_sub(counts + chart + 2);
    let streams_height = wanted.min(free.saturating_sub(4));
    let [header, vouchers, counts, chart, below, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(4),
        Constraint::Length(counts),
        Constraint::Length(chart),
        Constraint::Length(if streams_height < 4 { 0 } else { streams_height }),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_header(frame, header, now);
    draw_vouchers(frame, vouchers, now, view.scrolled);
    draw_counts(frame, counts, view);
    draw_chart(frame, chart, view);
    draw_lines(frame, below, " Streams ", streams);
    draw_footer(frame, footer, view, now);
}

fn block(title: &str) -> Block<'_> {
    let title = Span::styled(title, Style::new().add_modifier(Modifier::BOLD).fg(Color::Cyan));
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(Style::new().fg(Color::DarkGray))
        .padding(Padding::horizontal(1))
        .title(title)
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, now: &Reading) {
    let server = &now.server;
    let role = match (server.is_primary, server.is_cluster) {
        (true, false) => "primary",
        (false, false) => "replica",
        (true, true) => "primary of a cluster",
        (false, true) => "replica of a cluster",
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let left = Line::from(vec![
        Span::styled(" seckill-top", bold.fg(Color::Cyan)),
        Span::raw(format!("  {}  ", server.place)),
        Span::styled(format!("{} {}", server.product, server.version), bold),
        Span::raw(format!("  {role}  up {}", uptime(server.uptime_s))),
    ]);
    let right = format!(
        "{} commands/s  {}  {} clients ",
        number(server.ops_per_s),
        BinaryBytes(server.memory_bytes),
        number(server.clients)
    );
    let right = Line::from(right).right_aligned();
    let width = u16::try_from(right.width() + 2).unwrap_or(u16::MAX);
    let [at_left, at_right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]).areas(area);
    frame.render_widget(left, at_left);
    frame.render_widget(right, at_right);
}

fn draw_vouchers(frame: &mut Frame<'_>, area: Rect, now: &Reading, scrolled: usize) {
    let inner_rows = usize::from(area.height.saturating_sub(3));
    let count = now.vouchers.len();
    let first = scrolled.min(count.saturating_sub(inner_rows));
    let last = count.min(first + inner_rows);
    let mut title = format!(" Vouchers {}-{last} of {count} ", first + 1);
    if count <= inner_rows {
        " Vouchers ".clone_into(&mut title);
    }
    if now.left_out > 0 {
        title += &format!("and {} more, see --vouchers-max ", number(now.left_out as u64));
    }
    let width = usize::from(area.width.saturating_sub(BORDERS_WIDTH));
    let shown = now.vouchers.get(first..last).unwrap_or_default();
    draw_lines(frame, area, &title, panels::vouchers(shown, width));
}

fn draw_counts(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let thirds = [Constraint::Fill(5), Constraint::Fill(4), Constraint::Fill(4)];
    let [tries, orders, locks] = Layout::horizontal(thirds).areas(area);
    let width = |area: Rect| usize::from(area.width.saturating_sub(BORDERS_WIDTH));
    draw_lines(
        frame,
        tries,
        " Tries, per second and in all ",
        panels::tries(&view.history, width(tries)),
    );
    draw_lines(frame, orders, " Orders ", panels::orders(&view.history, width(orders)));
    draw_lines(frame, locks, " Locks ", panels::locks(&view.history, width(locks)));
}

fn draw_chart(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let rates = view.history.tries(usize::from(area.width.saturating_sub(BORDERS_WIDTH)));
    let peak = rates.iter().copied().max().unwrap_or(0);
    let title = format!(" Tries per second, at most {} ", number(peak));
    let chart = Sparkline::default().data(rates).style(Style::new().fg(Color::Green));
    frame.render_widget(chart.block(block(&title)), area);
}

fn draw_lines(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines).block(block(title)), area);
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, view: &View, now: &Reading) {
    let warn = Style::new().fg(Color::Yellow);
    let line = match (&view.trouble, now.notes.as_slice()) {
        (Some(trouble), _) => Span::styled(format!(" {trouble}"), Style::new().fg(Color::Red)),
        (None, []) => Span::styled(format!(" {}", view.keys), Style::new().fg(Color::DarkGray)),
        (None, [note]) => Span::styled(format!(" {note}"), warn),
        (None, [note, others @ ..]) => {
            Span::styled(format!(" {note} (and {} more notes)", others.len()), warn)
        }
    };
    frame.render_widget(Line::from(line), area);
}
