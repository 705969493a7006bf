#!/usr/bin/env bash
# metrics-exporter-prometheus renders its registry as the text of /metrics.
# Guess: two pages of one registry in which nothing has changed are equal, so a page can be compared, cached and read.
# Seen with 0.18.3: the metrics, and the series of one metric, are in another order each time.
. "$(dirname "$0")/common.sh"
mkdir -p "$folder/page/src"
cat >"$folder/page/Cargo.toml" <<'END'
[package]
name = "page"
version = "0.0.0"
edition = "2021"
[dependencies]
metrics = "=0.24.6"
metrics-exporter-prometheus = { version = "=0.18.3", default-features = false }
[workspace]
END
cat >"$folder/page/src/main.rs" <<'END'
use std::collections::BTreeSet;
fn main() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        for number in 0..8 {
            metrics::gauge!(format!("gauge_{number}")).set(1.0);
            metrics::gauge!("left", "voucher" => number.to_string()).set(1.0);
        }
    });
    let pages: Vec<String> = (0..20).map(|_| recorder.handle().render()).collect();
    let sorted = |page: &String| page.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let series = |page: &String| {
        page.lines().filter(|line| line.starts_with("left")).collect::<Vec<_>>().join("\n")
    };
    println!("{}", pages.iter().collect::<BTreeSet<_>>().len() > 1);
    println!("{}", pages.iter().map(series).collect::<BTreeSet<_>>().len() > 1);
    println!("{}", pages.iter().map(sorted).collect::<BTreeSet<_>>().len());
}
END
CARGO_TARGET_DIR="$folder/target" cargo run -q --manifest-path "$folder/page/Cargo.toml" >"$folder/seen"
seen "20 pages of an unchanged registry differ" true "$(sed -n 1p "$folder/seen")"
seen "the series of one metric, too" true "$(sed -n 2p "$folder/seen")"
seen "pages whose lines were sorted" 1 "$(sed -n 3p "$folder/seen")"
verdict
