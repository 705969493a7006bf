//! How the script and its replacement behave in a cluster: on one node that has all slots, and
//! loses one slot at a time.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use domain::slot::Slot as HashSlot;
use seckill_tools::sanitize::sanitize_bytes;
use serde::Serialize;

use crate::cure::Cure;
use crate::finding::Finding;
use crate::history::a_try;
use crate::reading::Reading;
use crate::sale::Sale;
use crate::server::{Client, Programs, Server};
use crate::template::{Slot, Template};
use crate::watch::eval;
use crate::world::{Kind, World, planted};

/// A node with the module, started on first use. Only one script uses it at a time.
pub struct Node<'a> {
    pub programs: &'a Programs,
    pub started: Mutex<Option<Server>>,
}

impl Node<'_> {
    /// Runs `look` on the node, with all slots and without keys.
    fn with<T>(&self, look: impl FnOnce(&mut Client) -> Result<T>) -> Result<T> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let server = match started.take() {
            Some(server) => server,
            None => Server::cluster(self.programs, true)?,
        };
        let mut client = server.client()?;
        client.must(&["FLUSHALL"])?;
        let seen = look(&mut client)?;
        // After an error the next script gets another node.
        *started = Some(server);
        Ok(seen)
    }
}

/// The result in a cluster.
#[derive(Serialize)]
pub struct Cluster {
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// How the script behaves, in one sentence.
    pub script: String,
    /// A line of Lua that sold there, with all its keys in one slot; none if no line did.
    pub line: Option<String>,
}

impl Cluster {
    pub fn examine(
        node: &Node<'_>,
        sale: &Sale,
        reading: &Reading,
        script: &[u8],
        cures: &[Cure],
    ) -> Result<Self> {
        let mut keys: Vec<&Template> = vec![&sale.stock.key];
        let places = sale.looks.iter().chain(&sale.marks).map(|place| &place.key);
        for key in places.chain(sale.orders.iter().map(|(stream, _)| stream)) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut findings = Vec::new();
        let declared = |key: &&&Template| matches!(key.slot(), Some(Slot::Key(_)));
        let shown: Vec<String> = keys
            .iter()
            .filter(|key| !declared(key))
            .map(|key| key.shown(&|slot| sale.name(slot)))
            .collect();
        if !shown.is_empty() {
            let text = format!(
                "It uses keys that the caller does not declare as KEYS, so no cluster client can \
                 find their node: {}.",
                shown.join(", ")
            );
            findings.push(Finding::weak("undeclared-keys", text));
        }
        let value = |slot| reading.value(slot, &a_try(1), true);
        let named: Vec<Vec<u8>> = keys.iter().map(|key| key.text(&value)).collect();
        let mut slots: Vec<u16> = named.iter().map(|key| HashSlot::of(key).number()).collect();
        slots.sort_unstable();
        slots.dedup();
        let script = match slots.len() {
            1 if keys.len() == 1 => "it has only one key".to_owned(),
            1 if shown.is_empty() => {
                "all its keys are in one slot, if the caller puts one hash tag into their names; \
                 otherwise it is refused: CROSSSLOT"
                    .to_owned()
            }
            1 => "all its keys are in one slot".to_owned(),
            count => {
                let half = node.with(|node| half_a_sale(node, sale, reading, script, &named))?;
                let fares = if half.is_some() { "it stops half-way" } else { "it is refused" };
                findings.extend(half);
                format!("its keys are in {count} slots; when these are on several nodes, {fares}")
            }
        };
        let line = line(node, sale, reading, cures, slots.len() == 1)?;
        Ok(Self { findings, script, line })
    }
}

/// Removes the slot of each key in turn, and reports the first run that wrote and then failed.
fn half_a_sale(
    node: &mut Client,
    sale: &Sale,
    reading: &Reading,
    script: &[u8],
    keys: &[Vec<u8>],
) -> Result<Option<Finding>> {
    for away in keys {
        node.must(&["FLUSHALL"])?;
        let slot = HashSlot::of(away).number().to_string();
        node.must(&["CLUSTER", "DELSLOTS", &slot])?;
        let value = |slot| reading.value(slot, &a_try(1), true);
        let stock = sale.stock.cell(&value);
        if HashSlot::of(&stock.key).number().to_string() != slot {
            node.must(&planted(&stock, b"5"))?;
        }
        let before = World::read(node)?;
        let reply = node.eval(&eval(script, &sale.slots, &value))?;
        node.must(&["CLUSTER", "ADDSLOTS", &slot])?;
        node.wait_for_cluster()?;
        let changes = before.changes(&World::read(node)?);
        if reply.is_error() && !changes.is_empty() {
            let mut changed: Vec<String> =
                changes.iter().map(|change| sanitize_bytes(&change.cell.key)).collect();
            changed.dedup();
            let text = format!(
                "In a cluster it stops half-way: with {} on another node it changes {}, and then \
                 fails.",
                sanitize_bytes(away),
                changed.join(" and ")
            );
            return Ok(Some(Finding::weak("cluster-partial-write", text)));
        }
    }
    Ok(None)
}

/// The line of Lua that also sells in a cluster: either the caller passes the keys, or the voucher
/// is passed as a key instead of an argument and no other key is changed. A command with keys in
/// several slots is not tried: after one, Valkey 9.1 runs no script correctly.
fn line(
    node: &Node<'_>,
    sale: &Sale,
    reading: &Reading,
    cures: &[Cure],
    in_one_slot: bool,
) -> Result<Option<String>> {
    let mut alone = cures.iter().filter(|cure| cure.settings.is_empty());
    let Some(lua) = alone.find_map(|cure| cure.way.lua()) else { return Ok(None) };
    let keys = sale.slots.iter().filter(|slot| slot.is_key()).count();
    let by_name = lua.contains("'SECKILL.TRY',");
    // Keys of further calls would be in other slots.
    let others = lua.matches("redis.call").count() + lua.matches("redis.pcall").count() > 1;
    let value = |slot| reading.value(slot, &a_try(1), true);
    node.with(|client| {
        let (text, call) = match sale.voucher {
            Some(voucher) if by_name && keys == 0 && !others => {
                let text = lua.replacen(&voucher.to_string(), "KEYS[1]", 1);
                let stock = domain::key_names::Naming::Wrapped(b"7")
                    .key(domain::key_names::STOCK_PREFIX.as_bytes());
                client.must(&[&b"SET"[..], &stock, b"5"])?;
                let mut call = eval(text.as_bytes(), &sale.slots, &value);
                call[2] = b"1".to_vec();
                call.insert(3, b"7".to_vec());
                (format!("{text}, called with the voucher as KEYS[1], and ARGV as before"), call)
            }
            _ if !by_name && in_one_slot && sale.stock.kind == Kind::Text => {
                client.must(&planted(&sale.stock.cell(&value), b"5"))?;
                let text =
                    "the same line, with one hash tag in the names of all its keys".to_owned();
                (text, eval(lua.as_bytes(), &sale.slots, &value))
            }
            _ => return Ok(None),
        };
        let before = World::read(client)?;
        let reply = client.eval(&call)?;
        let after = World::read(client)?;
        let mut slots: Vec<u16> =
            after.cells.keys().map(|cell| HashSlot::of(&cell.key).number()).collect();
        slots.dedup();
        Ok((!reply.refuses() && before != after && slots.len() == 1).then_some(text))
    })
}
