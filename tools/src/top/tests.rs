//! A frame of known readings, compared letter by letter.

use std::collections::BTreeSet;
use std::time::Instant;

use seckill_tools::sale_info::SaleInfo;

use crate::dashboard::{frame, text};
use crate::history::tests::reading;
use crate::options::Size;
use crate::reading::{Group, Server, Stream, Voucher};
use crate::screen::View;

const COUNTERS: [(&str, u64); 17] = [
    ("tries_accepted", 1_000),
    ("tries_sold_out", 98_883),
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
    Voucher { name: name.to_owned(), info, overdue_ms: None }
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

/// What two readings, two seconds apart, make of the known figures.
fn view() -> View {
    let start = Instant::now();
    let mut view = View::default();
    let earlier = COUNTERS.map(|(name, count)| (name, count / 2));
    view.history.push(reading(start, 0, &earlier));
    let mut now = reading(start, 2, &COUNTERS);
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
    let unmanaged = SaleInfo { left: Some(0), buyers: Some(12), ..SaleInfo::default() };
    let unmanaged = voucher("tea", "soldout", unmanaged);
    let gone = voucher("a voucher of a long name", "NOVOUCHER", SaleInfo::default());
    now.vouchers = vec![
        managed("phone", "open", 312, 250, 438),
        managed("\u{7968}", "pending", 5, 0, 0),
        managed("last", "open", 1, 0, 9_999),
        unmanaged,
        gone,
    ];
    let group =
        |name: &str, lag, pending| Group { name: name.to_owned(), consumers: 2, pending, lag };
    let stream = |name: &str, entries, groups| Stream { name: name.to_owned(), entries, groups };
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
fn the_frame_is_the_known_one() {
    let drawn = drawn(&view(), 110, 32);
    assert_eq!(drawn, include_str!("frame.txt"), "\n{drawn}");
}

/// Only where somebody waits is there a column and a row for it, and that cuts no other one.
#[test]
fn those_who_wait_are_shown() {
    let mut view = view();
    let mut now = view.history.now().unwrap().clone();
    now.vouchers[0].info.waiting = Some(1_234);
    now.counters.extend([("tries_waiting".to_owned(), 40), ("orders_served".to_owned(), 9)]);
    view.history.push(now);
    for (columns, row) in [
        (100, "312     250     438   1,000     688   1,234  open"),
        (120, "312       250       438     1,000       688     1,234  open"),
    ] {
        let drawn = drawn(&view, columns, 31);
        for (name, count) in [("waiting", "40"), ("served", "9")] {
            let mut panels = drawn.lines().flat_map(|line| line.split('\u{2502}')).map(str::trim);
            let is_row = |panel: &str| panel.starts_with(name) && panel.ends_with(count);
            assert!(panels.any(is_row), "{name} in {drawn}");
        }
        let line = drawn.lines().find(|line| line.contains("phone")).unwrap();
        assert!(line.contains(row), "{drawn}");
        assert!(drawn.contains(" waiting  state"), "{drawn}");
        assert!(drawn.contains("NOVOUCHER"), "{drawn}");
    }
}

/// As many columns as a frame has unless told otherwise.
#[test]
fn no_label_is_cut() {
    let told = drawn(&view(), 110, 32);
    let narrow = drawn(&view(), 100, 30);
    // Two words are of one label where a single space parts them.
    let labels = |drawn: &str| -> BTreeSet<String> {
        let words = drawn.split(|letter: char| !letter.is_ascii_lowercase() && letter != ' ');
        let words = words.flat_map(|line| line.split("  ")).map(|words| words.trim().to_owned());
        words.filter(|words| words.len() > 2).collect()
    };
    let missing: Vec<_> = labels(&told).difference(&labels(&narrow)).cloned().collect();
    assert_eq!(missing, Vec::<String>::new(), "{narrow}");
    assert!(labels(&narrow).contains("waiting in line"), "{narrow}");
}

#[test]
fn a_frame_fits_into_any_terminal() {
    let mut view = view();
    view.scrolled = 4;
    for (columns, rows) in [(40, 10), (60, 16), (80, 24), (400, 100), (1, 1)] {
        let drawn = drawn(&view, columns, rows);
        assert_eq!(drawn.lines().count(), usize::from(rows));
    }
    // Two rows for vouchers, and scrolled to the last.
    let short = drawn(&view, 100, 16);
    assert!(short.contains("a voucher of") && !short.contains("phone"), "{short}");
    assert!(short.contains(" of 5 "), "{short}");
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
        let line = drawn.lines().find(|line| line.contains(name)).unwrap();
        let mut bar: Vec<char> =
            line.chars().filter(|letter| ('\u{2591}'..='\u{2593}').contains(letter)).collect();
        let width = bar.len();
        bar.dedup();
        assert_eq!(bar.into_iter().collect::<String>(), parts, "{line}");
        assert_eq!(width, if parts.is_empty() { 0 } else { 28 }, "{line}");
    }
}

#[test]
fn trouble_and_notes_are_told() {
    let mut view = view();
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
