//! Frames of known readings, compared letter by letter.
//!
//! `WRITE_FRAMES=1 cargo test -p seckill-tools --bin seckill-top` writes them again, and the
//! picture of the documentation; read them before they are committed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ratatui::style::Color;
use seckill_tools::sale_info::SaleInfo;

use crate::dashboard::{frame, text};
use crate::history::tests::reading;
use crate::options::Size;
use crate::picture::picture;
use crate::reading::{Group, Kind, Server, Stream, Voucher};
use crate::screen::View;
use crate::selling::SoldOut;

/// What the server's clock shows.
const CLOCK_MS: i64 = 1_795_344_856_000;

const COUNTERS: [(&str, u64); 17] = [
    ("tries_accepted", 1_000),
    ("tries_sold_out", 1_489_883),
    ("tries_at_limit", 117),
    ("tries_not_started", 7),
    ("tries_ended", 0),
    ("tries_waiting", 0),
    ("tries_repeated", 12),
    ("orders_confirmed", 700),
    ("orders_cancelled", 100),
    ("orders_expired", 200),
    ("orders_rejected", 1),
    ("holds_open", 250),
    ("locks_acquired", 40),
    ("locks_refused", 8),
    ("locks_released", 30),
    ("locks_waiting", 3),
    ("locks_waited_ms_total", 1_200),
];

fn voucher(name: &str, state: &str, info: SaleInfo) -> Voucher {
    let info = SaleInfo { state: state.to_owned(), ..info };
    Voucher { name: name.to_owned(), info, ..Voucher::default() }
}

fn managed(name: &str, state: &str, left: i64, held: i64, sold: i64) -> Voucher {
    let info = SaleInfo {
        managed: true,
        total: Some(left + held + sold),
        left: Some(left),
        held: Some(held),
        sold: Some(sold),
        buyers: Some(held + sold),
        waiting: Some(0),
        ..SaleInfo::default()
    };
    voucher(name, state, info)
}

/// Six sales whose names begin alike, in each state.
fn vouchers() -> Vec<Voucher> {
    let unmanaged = SaleInfo { left: Some(0), buyers: Some(12_000), ..SaleInfo::default() };
    let mut all = vec![
        managed("double-11-headphones", "ended", 120, 0, 380),
        managed("double-11-iphone-17-pro-256-blue", "open", 312, 250, 438),
        managed("double-11-iphone-17-pro-512-blue", "open", 1, 0, 9_999),
        managed("double-11-\u{7968}", "scheduled", 5_000, 0, 0),
        voucher("double-11-tea", "soldout", unmanaged),
        managed("double-11-watch", "open", 2_000, 0, 0),
    ];
    all[2].info.end = Some(CLOCK_MS + 589_000);
    all[3].info.begin = Some(CLOCK_MS + 1_788_000);
    all[4].sold_out = Some(SoldOut { after_ms: 1_810, is_exact: true });
    all
}

/// What readings, two seconds apart, make of the known figures: two minutes of a sale.
fn view() -> View {
    const READINGS: u64 = 60;
    let start = Instant::now();
    let mut view = View { has_keys: true, ..View::default() };
    // It begins slowly, and goes on unevenly.
    let weight = |step: u64| (step * step * 4).min(300 - 3 * step) + step * 37 % 29;
    let total: u64 = (1..=READINGS).map(weight).sum();
    for last in 0..READINGS {
        let part: u64 = (1..=last).map(weight).sum();
        let earlier = COUNTERS.map(|(name, count)| (name, count * part / total));
        let mut before = reading(start, last * 2, &earlier);
        before.vouchers = vouchers();
        // This one sells.
        before.vouchers[2].info.sold = Some(9_000);
        view.history.push(before);
    }
    let mut now = reading(start, READINGS * 2, &COUNTERS);
    now.server = Server {
        place: "127.0.0.1:6379".to_owned(),
        product: "Redis",
        version: "7.0.15".to_owned(),
        is_primary: true,
        run_id: now.server.run_id,
        uptime_s: 3_725,
        ops_per_s: 123_456,
        memory_bytes: 12_897_485,
        clients: 51,
        ..Server::default()
    };
    now.vouchers = vouchers();
    now.clock_ms = Some(CLOCK_MS);
    let group = |name: &str, lag, pending| Group {
        name: name.to_owned(),
        consumers: 2,
        read: Some(256),
        pending,
        lag,
        ..Group::default()
    };
    let stream = |name: &str, entries, groups| Stream {
        name: name.to_owned(),
        raw_name: name.into(),
        kind: Kind::Other,
        entries,
        groups,
    };
    now.streams = vec![
        stream(
            "stream.orders",
            1_000,
            vec![group("seckill-worker", Some(744), 256), group("mail", Some(0), 0)],
        ),
        stream("stream.orders.released", 301, vec![group("seckill-worker", None, 0)]),
        stream("stream.orders.dlq", 1, vec![]),
    ];
    view.history.push(now);
    view
}

fn drawn(view: &View, columns: u16, rows: u16) -> String {
    text(&frame(view, Size { columns, rows }).unwrap())
}

#[test]
fn the_frames_are_the_known_ones() {
    let root = env!("CARGO_MANIFEST_DIR");
    let same = |path: &str, drawn: &str| {
        let path = format!("{root}/{path}");
        if std::env::var_os("WRITE_FRAMES").is_some() {
            std::fs::write(&path, drawn).unwrap();
        }
        assert_eq!(drawn, std::fs::read_to_string(&path).unwrap(), "\n{drawn}");
    };
    for (columns, rows) in [(80, 24), (100, 30), (120, 40)] {
        let drawn = drawn(&view(), columns, rows);
        same(&format!("src/top/frames/{columns}x{rows}.txt"), &drawn);
    }
    let frame = frame(&view(), Size { columns: 100, rows: 30 }).unwrap();
    same("../docs/images/seckill-top.svg", &picture(&frame));
}

const BAR: [char; 3] = ['\u{2591}', '\u{2592}', '\u{2593}'];

/// The voucher that sells is on top, and all can be distinguished, by name and state. Each has a
/// bar, and there is a curve while there are tries; else there are counters.
#[test]
fn the_smallest_terminal_shows_every_voucher_and_stream() {
    let drawn = drawn(&view(), 80, 24);
    let lines: Vec<&str> = drawn.lines().filter(|line| line.contains("double-11")).collect();
    let names: BTreeSet<&str> =
        lines.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(names.len(), vouchers().len(), "{drawn}");
    assert!(lines[0].contains("512-blue") && lines[0].contains("open"), "{drawn}");
    for state in ["scheduled", "soldout", "ended"] {
        assert!(lines.iter().any(|line| line.contains(state)), "{state} in {drawn}");
    }
    assert!(lines.iter().all(|line| line.contains(BAR)), "{drawn}");
    for shown in
        ["stream.orders.dlq", " peak 18,340, total 1,491,019 ", "2m 30s ago", " now ", "UTC"]
    {
        assert!(drawn.contains(shown), "{shown} in {drawn}");
    }
    let short = self::drawn(&view(), 80, 22);
    assert!(short.contains("Streams 1-3 of 4") && short.contains("scheduled"), "{short}");
    let last = self::drawn(&View { scrolled: [0, 9], ..view() }, 80, 22);
    assert!(last.contains("stream.orders.dlq") && last.contains("2-4 of 4"), "{last}");
    let mut quiet = View::default();
    quiet.history.push(view().history.now().unwrap().clone());
    let quiet = self::drawn(&quiet, 80, 24);
    assert!(quiet.contains("1,489,883 ") && !quiet.contains("peak"), "{quiet}");
}

/// Entries that nobody is there to read.
#[test]
fn a_group_without_a_worker_is_told() {
    let mut now = view().history.now().unwrap().clone();
    let groups = now.streams.iter_mut().flat_map(|stream| &mut stream.groups);
    groups.for_each(|group| group.consumers = 0);
    let mut view = View::default();
    view.history.push(now);
    let frame = frame(&view, Size { columns: 80, rows: 24 }).unwrap();
    let drawn = text(&frame);
    let rows: Vec<&str> = drawn.lines().filter(|line| line.contains("no worker")).collect();
    // The mail has no lag.
    assert!(rows.len() == 2 && rows[0].contains("744") && rows[1].contains('?'), "{drawn}");
    let is_red = |cell: &&ratatui::buffer::Cell| cell.fg == Color::Red && cell.symbol() == "w";
    assert_eq!(frame.content().iter().filter(is_red).count(), 2);
}

/// A worker that was killed stays in its group.
#[test]
fn a_group_whose_consumers_read_nothing_is_told() {
    for (idle_s, is_silent) in [(4, false), (5, true), (65, true)] {
        let mut now = view().history.now().unwrap().clone();
        let groups = now.streams.iter_mut().flat_map(|stream| &mut stream.groups);
        groups.for_each(|group| group.idle = Some(Duration::from_secs(idle_s)));
        let mut view = View::default();
        view.history.push(now);
        let frame = frame(&view, Size { columns: 80, rows: 24 }).unwrap();
        let drawn = text(&frame);
        // Of three groups one has no lag, and of one it is not known.
        let rows: Vec<&str> = drawn.lines().filter(|line| line.contains("silent")).collect();
        assert_eq!(rows.len(), usize::from(is_silent), "{drawn}");
        assert!(rows.iter().all(|row| row.contains("744")), "{drawn}");
        let words = if idle_s == 65 { "silent 1m 5s" } else { "silent 5s" };
        assert_eq!(drawn.contains(words), is_silent, "{drawn}");
        let is_red = |cell: &&ratatui::buffer::Cell| cell.fg == Color::Red;
        let red: String = frame.content().iter().filter(is_red).map(|it| it.symbol()).collect();
        assert_eq!(red.contains(words), is_silent, "{red}");
    }
}

/// A worker that was killed after it had read the last entry stays, too, with what it had read.
#[test]
fn a_group_whose_consumers_leave_entries_pending_is_told() {
    let group = |lag, pending, idle_s| Group {
        idle: Some(Duration::from_secs(idle_s)),
        ..Group { pending, lag, ..Group::default() }
    };
    for (lag, pending, idle_s, is_silent) in [
        (Some(0), 1, 59, false),
        (Some(0), 1, 60, true),
        (None, 1, 60, true),
        (Some(1), 1, 5, true),
        (Some(0), 0, 3_600, false),
        (None, 0, 3_600, false),
    ] {
        let group = group(lag, pending, idle_s);
        assert_eq!(group.silent().is_some(), is_silent, "{group:?}");
    }
}

/// Only where somebody waits is there a column and a row for it.
#[test]
fn those_who_wait_are_shown() {
    let mut view = view();
    let mut now = view.history.now().unwrap().clone();
    let phone = now.vouchers.iter_mut().find(|voucher| voucher.name.contains("256"));
    phone.unwrap().info.waiting = Some(1_234);
    now.counters.extend([("tries_waiting".to_owned(), 40), ("orders_promoted".to_owned(), 9)]);
    view.history.push(now);
    for (columns, row) in [
        (80, "312     250     438    1,234  open"),
        (100, "312     250     438   1,000    1,234  open"),
        (120, "312     250     438   1,000     688    1,234  open"),
    ] {
        let drawn = drawn(&view, columns, 35);
        for (name, count) in [("waiting", "40"), ("promoted", "9")] {
            let mut panels = drawn.lines().flat_map(|line| line.split('\u{2502}')).map(str::trim);
            let is_row = |panel: &str| panel.starts_with(name) && panel.ends_with(count);
            assert!(panels.any(is_row), "{name} in {drawn}");
        }
        let line = drawn.lines().find(|line| line.contains("1,234")).unwrap();
        assert!(line.contains(row) && line.contains(BAR), "{drawn}");
        assert!(drawn.contains("  waiting  state"), "{drawn}");
        assert!(drawn.contains("soldout"), "{drawn}");
    }
}

/// As many columns as a frame has unless it is given others.
#[test]
fn no_label_is_cut() {
    let wide = drawn(&view(), 120, 40);
    let narrow = drawn(&view(), 100, 36);
    // Two words are of one label where a single space parts them.
    let labels = |drawn: &str| -> BTreeSet<String> {
        let words = drawn.split(|letter: char| !letter.is_ascii_lowercase() && letter != ' ');
        let words = words.flat_map(|line| line.split("  ")).map(|words| words.trim().to_owned());
        words.filter(|words| words.len() > 2).collect()
    };
    let missing: Vec<_> = labels(&wide).difference(&labels(&narrow)).cloned().collect();
    // Names may be cut.
    assert_eq!(missing, ["clients", "iphone"], "{narrow}");
    assert!(labels(&narrow).contains("in the queue"), "{narrow}");
}

#[test]
fn a_frame_fits_into_any_terminal() {
    let mut view = view();
    view.scrolled = [4, 0];
    for (columns, rows) in [(40, 10), (60, 16), (80, 24), (400, 100), (1, 1)] {
        let drawn = drawn(&view, columns, rows);
        assert_eq!(drawn.lines().count(), usize::from(rows));
    }
    // A few rows for vouchers, and scrolled to the last.
    view.scrolled = [5, 0];
    let short = drawn(&view, 100, 16);
    assert!(short.contains("-headphones") && !short.contains("512-blue"), "{short}");
    assert!(short.contains(" of 6 "), "{short}");
}

#[test]
fn a_bar_has_no_part_of_what_is_not_there() {
    let mut now = view().history.now().unwrap().clone();
    now.vouchers = vec![
        managed("a1", "open", 4, 1, 0),
        managed("a2", "open", 0, 7, 0),
        managed("a3", "open", 7, 0, 0),
        managed("a4", "open", 0, 0, 3),
        managed("a5", "open", 0, 0, 0),
        managed("a6", "open", 1, 1, 1),
    ];
    let mut view = View::default();
    view.history.push(now);
    let drawn = drawn(&view, 107, 40);
    for (name, parts) in [
        ("a1", "\u{2593}\u{2592}"),
        ("a2", "\u{2592}"),
        ("a3", "\u{2593}"),
        ("a4", "\u{2591}"),
        ("a5", ""),
        ("a6", "\u{2593}\u{2592}\u{2591}"),
    ] {
        let is_it = |line: &&str| line.trim_start_matches('\u{2502}').trim().starts_with(name);
        let line = drawn.lines().find(is_it).unwrap();
        let mut bar: Vec<char> =
            line.chars().filter(|letter| ('\u{2591}'..='\u{2593}').contains(letter)).collect();
        let width = bar.len();
        bar.dedup();
        assert_eq!(bar.into_iter().collect::<String>(), parts, "{line}");
        assert_eq!(width, if parts.is_empty() { 0 } else { 53 }, "{line}");
    }
}

#[test]
fn trouble_and_notes_are_told() {
    let mut view = view();
    view.has_keys = false;
    view.trouble = Some("lost it".to_owned());
    assert!(drawn(&view, 100, 30).ends_with(" lost it\n"));
    let mut now = view.history.now().unwrap().clone();
    view.trouble = None;
    now.notes = vec!["first".to_owned(), "second".to_owned()];
    now.left_out = 1_234;
    view.history.push(now);
    let noted = drawn(&view, 100, 30);
    assert!(noted.ends_with(" first (and 1 more notes)\n"), "{noted}");
    assert!(noted.contains("and 1,234 more, see --vouchers-max"), "{noted}");
    let silent = View { trouble: Some("no server".to_owned()), ..View::default() };
    assert!(drawn(&silent, 100, 30).starts_with(" seckill-top  no server\n"));
}
