//! A reading as a page of metrics, in the text format of Prometheus.

use domain::info;
use metrics::{Label, counter, describe_counter, describe_gauge, with_local_recorder};
use metrics_exporter_prometheus::PrometheusBuilder;
use seckill_tools::http::in_order;

use crate::history::exact;
use crate::reading::{Reading, Server, Stream, Voucher};

/// The page of a reading; without one only that there was none.
pub fn page(reading: Option<&Reading>) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    with_local_recorder(&recorder, || {
        let up = f64::from(u8::from(reading.is_some()));
        gauge("seckill_up", "1 if the server could be read, else 0", &[], up);
        let Some(reading) = reading else { return };
        server(&reading.server);
        for (field, value) in &reading.counters {
            field_of_module(field, *value);
        }
        reading.vouchers.iter().for_each(voucher);
        let (name, left_out) = ("seckill_vouchers_left_out", exact(reading.left_out as u64));
        gauge(name, "Vouchers that were found but not read", &[], left_out);
        reading.streams.iter().for_each(stream);
    });
    in_order(&recorder.handle().render())
}

fn gauge(name: &str, meaning: &'static str, labels: &[(&'static str, &str)], value: f64) {
    let label = |(name, value): &(&'static str, &str)| Label::new(*name, (*value).to_owned());
    let labels: Vec<Label> = labels.iter().map(label).collect();
    describe_gauge!(name.to_owned(), meaning);
    metrics::gauge!(name.to_owned(), labels).set(value);
}

fn count(name: String, meaning: &'static str, value: u64) {
    describe_counter!(name.clone(), meaning);
    counter!(name).absolute(value);
}

fn server(server: &Server) {
    let role = if server.is_primary { "primary" } else { "replica" };
    let labels = [("server", server.product), ("version", &*server.version), ("role", role)];
    gauge("seckill_server_info", "1 with product, version and role as labels", &labels, 1.0);
    for (name, meaning, value) in [
        ("uptime_seconds", "Seconds since the server's start", server.uptime_s),
        ("commands_per_second", "Commands per second, from INFO", server.ops_per_s),
        ("memory_bytes", "Memory that the data uses", server.memory_bytes),
        ("memory_max_bytes", "The server's maxmemory; 0: no limit", server.memory_max_bytes),
        ("clients", "Connected clients", server.clients),
    ] {
        gauge(&format!("seckill_server_{name}"), meaning, &[], exact(value));
    }
    let evicted = "seckill_server_evicted_keys_total".to_owned();
    count(evicted, "Keys that were evicted", server.evicted_keys);
    for (kind, is_saved) in &server.saved {
        let (name, meaning) = ("seckill_server_saved", "1: the last write or save succeeded");
        gauge(name, meaning, &[("kind", kind)], f64::from(u8::from(*is_saved)));
    }
}

/// A field under its own name; one that only grows with `_total` behind.
fn field_of_module(field: &str, value: u64) {
    // A newer module may have a field that is not known here.
    let known = info::field(field);
    let meaning = known.map_or("A field of INFO seckill", |field| field.meaning);
    if known.is_some_and(|field| field.kind == info::Kind::Gauge) {
        gauge(&format!("seckill_{field}"), meaning, &[], exact(value));
    } else {
        let field = field.strip_suffix("_total").unwrap_or(field);
        count(format!("seckill_{field}_total"), meaning, value);
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are floating-point numbers")]
fn voucher(voucher: &Voucher) {
    let Voucher { name, info, overdue_ms } = voucher;
    let labels = [("voucher", name.as_str())];
    for (name, meaning, value) in [
        ("total", "Units left, held and sold together", info.total),
        ("left", "Units left", info.left),
        ("held", "Units of orders that are held", info.held),
        ("sold", "Units neither left nor held", info.sold),
        ("buyers", "Users in the set of buyers", info.buyers),
        ("waiting", "Orders in line for units", info.waiting),
    ] {
        let Some(value) = value else { continue };
        gauge(&format!("seckill_voucher_{name}"), meaning, &labels, value as f64);
    }
    if let Some(ms) = overdue_ms {
        let meaning = "Seconds since the earliest hold was due to expire; 0: none is overdue";
        let seconds = *ms as f64 / 1_000.0;
        gauge("seckill_voucher_hold_overdue_seconds", meaning, &labels, seconds);
    }
    let labels = [("voucher", name.as_str()), ("state", info.state.as_str())];
    gauge("seckill_voucher_state", "1 with the state as a label", &labels, 1.0);
}

fn stream(stream: &Stream) {
    let labels = [("stream", stream.name.as_str())];
    gauge("seckill_stream_entries", "Entries in the stream", &labels, exact(stream.entries));
    for group in &stream.groups {
        let labels = [labels[0], ("group", group.name.as_str())];
        for (name, meaning, value) in [
            ("lag", "Entries that no consumer has read", group.lag),
            ("pending", "Entries read and not acknowledged", Some(group.pending)),
            ("consumers", "Consumers of the group", Some(group.consumers)),
        ] {
            let Some(value) = value else { continue };
            gauge(&format!("seckill_group_{name}"), meaning, &labels, exact(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_server_only_that_is_told() {
        let page = page(None);
        assert_eq!(page.trim_end().lines().last(), Some("seckill_up 0"));
        assert_eq!(page.trim_end().lines().count(), 3, "{page}");
    }
}
