//! A reading as a page of metrics, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use domain::info;

use crate::reading::{Reading, Server, Stream, Voucher};

/// A metric: its kind, what it means, and its samples as labels and value.
struct Metric {
    kind: &'static str,
    meaning: String,
    samples: Vec<(String, String)>,
}

/// The metrics by name, each with all of its samples together, as the format demands.
#[derive(Default)]
struct Page(BTreeMap<String, Metric>);

/// The page of a reading; without one only that there was none.
pub fn page(reading: Option<&Reading>) -> String {
    let mut page = Page::default();
    let up = u8::from(reading.is_some());
    page.gauge("seckill_up", "1 if the server could be read, else 0", &[], Some(up));
    if let Some(reading) = reading {
        page.server(&reading.server);
        page.counters(&reading.counters);
        for voucher in &reading.vouchers {
            page.voucher(voucher);
        }
        let left_out = Some(reading.left_out);
        page.gauge(
            "seckill_vouchers_left_out",
            "Vouchers that were found but not read",
            &[],
            left_out,
        );
        for stream in &reading.streams {
            page.stream(stream);
        }
    }
    page.text()
}

impl Page {
    fn add<V: ToString>(
        &mut self,
        (kind, name): (&'static str, &str),
        meaning: &str,
        labels: &[(&str, &str)],
        value: Option<V>,
    ) {
        let Some(value) = value else { return };
        let labels: Vec<_> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let metric = self.0.entry(name.to_owned()).or_insert_with(|| Metric {
            kind,
            meaning: meaning.to_owned(),
            samples: Vec::new(),
        });
        metric.samples.push((labels.join(","), value.to_string()));
    }

    fn gauge<V: ToString>(
        &mut self,
        name: &str,
        meaning: &str,
        labels: &[(&str, &str)],
        value: Option<V>,
    ) {
        self.add(("gauge", name), meaning, labels, value);
    }

    fn server(&mut self, server: &Server) {
        let role = if server.is_primary { "primary" } else { "replica" };
        let labels = [("server", server.product), ("version", &server.version), ("role", role)];
        self.gauge(
            "seckill_server_info",
            "1 with product, version and role as labels",
            &labels,
            Some(1),
        );
        let mut gauge = |name: &str, meaning, value| self.gauge(name, meaning, &[], Some(value));
        gauge("seckill_server_uptime_seconds", "Seconds since the server's start", server.uptime_s);
        gauge(
            "seckill_server_commands_per_second",
            "Commands per second, from INFO",
            server.ops_per_s,
        );
        gauge("seckill_server_memory_bytes", "Memory that the data uses", server.memory_bytes);
        let max = server.memory_max_bytes;
        gauge("seckill_server_memory_max_bytes", "The server's maxmemory; 0: no limit", max);
        gauge("seckill_server_clients", "Connected clients", server.clients);
        let evicted = ("counter", "seckill_server_evicted_keys_total");
        self.add(evicted, "Keys that were evicted", &[], Some(server.evicted_keys));
        for (kind, is_saved) in &server.saved {
            let (name, meaning) = ("seckill_server_saved", "1: the last write or save succeeded");
            self.gauge(name, meaning, &[("kind", kind)], Some(u8::from(*is_saved)));
        }
    }

    /// Every field under its own name; those that only grow with `_total` behind.
    fn counters(&mut self, counters: &BTreeMap<String, u64>) {
        for (field, value) in counters {
            // A newer module may have a field that is not known here.
            let known = info::field(field);
            let (kind, tail) = match known.is_some_and(|field| field.kind == info::Kind::Gauge) {
                true => ("gauge", ""),
                false if field.ends_with("_total") => ("counter", ""),
                false => ("counter", "_total"),
            };
            let name = format!("seckill_{field}{tail}");
            let meaning = known.map_or("A field of INFO seckill", |field| field.meaning);
            self.add((kind, &name), meaning, &[], Some(value));
        }
    }

    fn voucher(&mut self, voucher: &Voucher) {
        let labels = [("voucher", voucher.name.as_str())];
        for (name, meaning, value) in [
            ("seckill_voucher_total", "Units left, held and sold together", voucher.info.total),
            ("seckill_voucher_left", "Units left", voucher.info.left),
            ("seckill_voucher_held", "Units of orders that are held", voucher.info.held),
            ("seckill_voucher_sold", "Units neither left nor held", voucher.info.sold),
            ("seckill_voucher_buyers", "Users in the set of buyers", voucher.info.buyers),
            ("seckill_voucher_waiting", "Orders in line for units", voucher.info.waiting),
        ] {
            self.gauge(name, meaning, &labels, value);
        }
        let overdue = voucher.overdue_ms.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        let name = "seckill_voucher_hold_overdue_seconds";
        let meaning = "Seconds since the earliest hold was due to expire; 0: none is overdue";
        self.gauge(name, meaning, &labels, overdue.map(|overdue| overdue.as_secs_f64()));
        let labels = [("voucher", voucher.name.as_str()), ("state", voucher.info.state.as_str())];
        self.gauge("seckill_voucher_state", "1 with the state as a label", &labels, Some(1));
    }

    fn stream(&mut self, stream: &Stream) {
        let name = stream.name.as_str();
        let (labels, entries) = ([("stream", name)], Some(stream.entries));
        self.gauge("seckill_stream_entries", "Entries in the stream", &labels, entries);
        for group in &stream.groups {
            let labels = [("stream", name), ("group", group.name.as_str())];
            let mut gauge = |name: &str, meaning, value| self.gauge(name, meaning, &labels, value);
            gauge("seckill_group_lag", "Entries that no consumer has read", group.lag);
            let pending = Some(group.pending);
            gauge("seckill_group_pending", "Entries read and not acknowledged", pending);
            gauge("seckill_group_consumers", "Consumers of the group", Some(group.consumers));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, Metric { kind, meaning, samples }) in &self.0 {
            let _ = writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = match labels.as_str() {
                    "" => writeln!(text, "{name} {value}"),
                    labels => writeln!(text, "{name}{{{labels}}} {value}"),
                };
            }
        }
        text
    }
}

/// A label's value between its quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::reading;
    use crate::reading::Group;
    use seckill_tools::sale_info::SaleInfo;
    use std::time::Instant;

    #[test]
    fn a_page_has_every_figure_once() {
        let counters = [("tries_accepted", 7), ("holds_open", 2), ("locks_waited_ms_total", 9)];
        let mut reading = reading(Instant::now(), 0, &counters);
        reading.vouchers = vec![
            Voucher { name: "a\"\\".to_owned(), ..Voucher::default() },
            Voucher { name: "b".to_owned(), overdue_ms: Some(1_500), ..Voucher::default() },
        ];
        reading.vouchers[0].info.left = Some(-1);
        reading.vouchers[1].info = SaleInfo { left: Some(3), held: Some(0), ..SaleInfo::default() };
        reading.server.saved = vec![("rdb", true), ("aof", false)];
        let groups = vec![Group { name: "g".to_owned(), lag: None, ..Group::default() }];
        reading.streams = vec![Stream { name: "s".to_owned(), entries: 4, groups }];
        let page = page(Some(&reading));
        for line in [
            "seckill_up 1",
            "# TYPE seckill_tries_accepted_total counter",
            "seckill_tries_accepted_total 7",
            "# TYPE seckill_holds_open gauge",
            "seckill_holds_open 2",
            "seckill_locks_waited_ms_total 9",
            "seckill_voucher_left{voucher=\"a\\\"\\\\\"} -1",
            "seckill_voucher_left{voucher=\"b\"} 3",
            "seckill_voucher_held{voucher=\"b\"} 0",
            "seckill_voucher_hold_overdue_seconds{voucher=\"b\"} 1.5",
            "seckill_server_saved{kind=\"rdb\"} 1",
            "seckill_server_saved{kind=\"aof\"} 0",
            "# TYPE seckill_server_evicted_keys_total counter",
            "seckill_stream_entries{stream=\"s\"} 4",
            "seckill_group_pending{stream=\"s\",group=\"g\"} 0",
        ] {
            assert_eq!(page.lines().filter(|found| *found == line).count(), 1, "{line}\n{page}");
        }
        assert!(!page.contains("seckill_group_lag"), "{page}");
        assert_eq!(page.matches("# TYPE seckill_voucher_left ").count(), 1, "{page}");
    }

    #[test]
    fn without_a_server_only_that_is_told() {
        let page = page(None);
        assert_eq!(page.lines().last(), Some("seckill_up 0"));
        assert_eq!(page.lines().count(), 3, "{page}");
    }
}
