//! The memory of an order of a managed sale, key by key.

use serde::Serialize;

use crate::Result;
use crate::managed::sale::{Kind, Sale, Spelling};
use crate::options::Size;
use crate::stand::{Lab, Stand};

const SALE: Sale = Sale { voucher: 8, kind: Kind::Held };

/// Bytes per order, by MEMORY USAGE of each key with every element counted.
#[derive(Serialize)]
pub struct Memory {
    pub orders: usize,
    pub keys: Vec<KeyMemory>,
    /// The growth of the server's used_memory per order.
    pub grown: ByState,
}

#[derive(Serialize)]
pub struct KeyMemory {
    pub key: String,
    pub bytes: ByState,
}

/// The same orders while held, once confirmed, or once cancelled.
#[derive(Clone, Copy, Serialize)]
pub struct ByState {
    pub held: f64,
    pub sold: f64,
    pub cancelled: f64,
}

/// The server's memory in one state.
struct Seen {
    keys: Vec<f64>,
    grown: f64,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Memory> {
    let orders = size.orders_weighed;
    let (held, sold) = before_and_after(lab, orders, "SECKILL.CONFIRM")?;
    let (_, cancelled) = before_and_after(lab, orders, "SECKILL.CANCEL")?;
    let by_state = |of: &dyn Fn(&Seen) -> f64| ByState {
        held: of(&held),
        sold: of(&sold),
        cancelled: of(&cancelled),
    };
    let keys = keys()
        .into_iter()
        .enumerate()
        .map(|(place, key)| KeyMemory { key, bytes: by_state(&|seen| seen.keys[place]) })
        .collect();
    Ok(Memory { orders, keys, grown: by_state(&|seen| seen.grown) })
}

/// The memory of this many held orders, and the memory after `command` on each of them.
fn before_and_after(lab: &Lab, orders: usize, command: &'static str) -> Result<(Seen, Seen)> {
    let mut stand = lab.stand(false)?;
    SALE.open(&mut stand, orders)?;
    // Lets the connections allocate their buffers before the first measurement.
    let nobody = Spelling::Command(command).load(SALE.voucher, 0..orders.min(1_000), ":0\r\n");
    stand.send(&nobody)?;
    let empty = used_memory(&mut stand)?;
    SALE.sell(&mut stand, orders)?;
    let held = see(&mut stand, orders, empty)?;
    stand.send(&Spelling::Command(command).load(SALE.voucher, 0..orders, ":1\r\n"))?;
    let after = see(&mut stand, orders, empty)?;
    Ok((held, after))
}

fn keys() -> Vec<String> {
    let mut keys: Vec<String> =
        ["book", "units", "order", "hold"].map(|kind| format!("seckill:{kind}:<v>")).into();
    keys.extend([
        "stream.orders".to_owned(),
        "stream.orders.released".to_owned(),
        "stream.orders.confirmed".to_owned(),
    ]);
    keys
}

fn see(stand: &mut Stand, orders: usize, empty: f64) -> Result<Seen> {
    let an_order = |bytes: f64| (bytes / orders as f64 * 10.0).round() / 10.0;
    let mut seen = Seen { keys: Vec::new(), grown: an_order(used_memory(stand)? - empty) };
    for key in keys() {
        let key = key.replace("<v>", &SALE.voucher.to_string());
        let bytes: Option<f64> = stand.run(&["MEMORY", "USAGE", &key, "SAMPLES", "0"])?;
        seen.keys.push(an_order(bytes.unwrap_or(0.0)));
    }
    Ok(seen)
}

fn used_memory(stand: &mut Stand) -> Result<f64> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("memory").query(&mut stand.control)?;
    info.get("used_memory").ok_or_else(|| "INFO memory names no used_memory".into())
}
