//! A reading as metrics, for a page in the text format of Prometheus.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use domain::info;
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntCounter, Opts, Registry, Result};

use crate::history::exact;
use crate::reading::{Reading, Server, Stream, Voucher};

/// A reading; without one only that there was none.
pub fn metrics(reading: Option<&Reading>) -> Result<Vec<MetricFamily>> {
    let mut metrics = Metrics::default();
    let up = f64::from(u8::from(reading.is_some()));
    metrics.gauge("seckill_up", "1 if the server could be read, else 0", &[], up)?;
    if let Some(reading) = reading {
        metrics.server(&reading.server)?;
        for (field, value) in &reading.counters {
            metrics.field_of_module(field, *value)?;
        }
        reading.vouchers.iter().try_for_each(|it| metrics.voucher(it))?;
        let (name, left_out) = ("seckill_vouchers_left_out", exact(reading.left_out as u64));
        metrics.gauge(name, "Vouchers that were found but not read", &[], left_out)?;
        reading.streams.iter().try_for_each(|it| metrics.stream(it))?;
    }
    Ok(metrics.registry.gather())
}

#[derive(Default)]
struct Metrics {
    registry: Registry,
    gauges: BTreeMap<String, GaugeVec>,
}

impl Metrics {
    fn gauge(
        &mut self,
        name: &str,
        meaning: &str,
        labels: &[(&str, &str)],
        value: f64,
    ) -> Result<()> {
        let (names, values): (Vec<&str>, Vec<&str>) = labels.iter().copied().unzip();
        let gauge = match self.gauges.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let gauge = GaugeVec::new(Opts::new(name, meaning), &names)?;
                self.registry.register(Box::new(gauge.clone()))?;
                place.insert(gauge)
            }
        };
        gauge.get_metric_with_label_values(&values)?.set(value);
        Ok(())
    }

    fn count(&mut self, name: &str, meaning: &str, value: u64) -> Result<()> {
        let counter = IntCounter::new(name, meaning)?;
        counter.inc_by(value);
        self.registry.register(Box::new(counter))
    }

    fn server(&mut self, server: &Server) -> Result<()> {
        let role = if server.is_primary { "primary" } else { "replica" };
        let labels = [("server", server.product), ("version", &*server.version), ("role", role)];
        let meaning = "1 with product, version and role as labels";
        self.gauge("seckill_server_info", meaning, &labels, 1.0)?;
        for (name, meaning, value) in [
            ("uptime_seconds", "Seconds since the server's start", server.uptime_s),
            ("commands_per_second", "Commands per second, from INFO", server.ops_per_s),
            ("memory_bytes", "Memory that the data uses", server.memory_bytes),
            ("memory_max_bytes", "The server's maxmemory; 0: no limit", server.memory_max_bytes),
            ("clients", "Connected clients", server.clients),
        ] {
            self.gauge(&format!("seckill_server_{name}"), meaning, &[], exact(value))?;
        }
        let evicted = "seckill_server_evicted_keys_total";
        self.count(evicted, "Keys that were evicted", server.evicted_keys)?;
        for (kind, is_saved) in &server.saved {
            let (name, meaning) = ("seckill_server_saved", "1: the last write or save succeeded");
            self.gauge(name, meaning, &[("kind", kind)], f64::from(u8::from(*is_saved)))?;
        }
        Ok(())
    }

    /// A field under its own name; one that only grows with `_total` behind.
    fn field_of_module(&mut self, field: &str, value: u64) -> Result<()> {
        // A newer module may have a field that is not known here.
        let known = info::field(field);
        let field = &field.replace(|it: char| !it.is_ascii_alphanumeric(), "_");
        let meaning = known.map_or("A field of INFO seckill", |field| field.meaning);
        if known.is_some_and(|field| field.kind == info::Kind::Gauge) {
            self.gauge(&format!("seckill_{field}"), meaning, &[], exact(value))
        } else {
            let field = field.strip_suffix("_total").unwrap_or(field);
            self.count(&format!("seckill_{field}_total"), meaning, value)
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "gauges are floating-point numbers")]
    fn voucher(&mut self, voucher: &Voucher) -> Result<()> {
        let Voucher { name, info, overdue_ms, .. } = voucher;
        let labels = [("voucher", name.as_str())];
        for (name, meaning, value) in [
            ("total", "Units left, held and sold together", info.total),
            ("left", "Units left", info.left),
            ("held", "Units of orders that are held", info.held),
            ("sold", "Units neither left nor held", info.sold),
            ("buyers", "Users in the set of buyers", info.buyers),
            ("waiting", "Orders in the queue for units", info.waiting),
        ] {
            let Some(value) = value else { continue };
            self.gauge(&format!("seckill_voucher_{name}"), meaning, &labels, value as f64)?;
        }
        if let Some(ms) = overdue_ms {
            let meaning = "Seconds since the earliest hold was due to expire; 0: none is overdue";
            let seconds = *ms as f64 / 1_000.0;
            self.gauge("seckill_voucher_hold_overdue_seconds", meaning, &labels, seconds)?;
        }
        let labels = [("voucher", name.as_str()), ("state", info.state.as_str())];
        self.gauge("seckill_voucher_state", "1 with the state as a label", &labels, 1.0)
    }

    fn stream(&mut self, stream: &Stream) -> Result<()> {
        let labels = [("stream", stream.name.as_str())];
        let entries = exact(stream.entries);
        self.gauge("seckill_stream_entries", "Entries in the stream", &labels, entries)?;
        for group in &stream.groups {
            let labels = [labels[0], ("group", group.name.as_str())];
            for (name, meaning, value) in [
                ("lag", "Entries that no consumer has read", group.lag),
                ("pending", "Entries read and not acknowledged", Some(group.pending)),
                ("consumers", "Consumers of the group", Some(group.consumers)),
            ] {
                let Some(value) = value else { continue };
                self.gauge(&format!("seckill_group_{name}"), meaning, &labels, exact(value))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seckill_tools::http::Page;

    #[test]
    fn without_a_server_only_that_is_told() {
        let page = Page::of_metrics(metrics(None)).text;
        assert_eq!(page.trim_end().lines().last(), Some("seckill_up 0"));
        assert_eq!(page.trim_end().lines().count(), 3, "{page}");
    }
}
