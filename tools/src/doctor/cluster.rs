//! The script on a node of a cluster, where every key in turn lives on another node; and the
//! module beside it.

use std::collections::BTreeMap;

use anyhow::Result;
use domain::key_names::{Naming, STOCK_PREFIX};
use domain::sale::Outcome;
use redis::Value;

use crate::cure::{self, Cure};
use crate::findings::Finding;
use crate::reply::Reply;
use crate::server::{Client, Programs, Server};
use crate::shape::{Shape, Try};
use crate::state;
use crate::template::{Slot, Template};

/// What was seen in a cluster.
pub struct Cluster {
    pub findings: Vec<Finding>,
    /// In one sentence, how the script fares.
    pub script: String,
    /// And the module.
    pub module: Option<Result<String, String>>,
}

fn a_try() -> Try {
    Try { voucher: "7", user: b"1001".to_vec(), order: "5001".into() }
}

impl Cluster {
    pub fn examine(
        programs: &Programs,
        shape: &Shape,
        script: &[u8],
        cure: Option<&Cure>,
    ) -> Result<Self> {
        let undeclared: Vec<&Template> =
            shape.touched.iter().filter(|key| !is_declared(key)).collect();
        let mut findings = Vec::new();
        if !undeclared.is_empty() {
            let shown: Vec<_> =
                undeclared.iter().map(|key| key.shown(&|slot| shape.name(slot))).collect();
            let text = format!(
                "It uses keys that the caller does not declare as KEYS, so that no cluster client \
                 can find their node: {}.",
                shown.join(", ")
            );
            findings.push(Finding::weak("undeclared-keys", text));
        }
        let server = Server::cluster(programs, false)?;
        let mut node = server.client()?;
        let slots = slots_of(&mut node, shape)?;
        let script_fares = if slots.len() <= 1 {
            in_one_slot(&mut node, shape, script)?
        } else {
            let worst = worst(&mut node, shape, script, &slots)?;
            let text = format!("its keys are in {} slots, which nodes share out", slots.len());
            match worst {
                Some(half) => {
                    findings.push(Finding::weak("cluster-partial-write", half));
                    format!("{text}; it writes half a sale")
                }
                None => format!("{text}; where they are on several nodes it is refused"),
            }
        };
        drop(server);
        let module = cure.map(|cure| of_module(programs, shape, cure)).transpose()?;
        Ok(Self { findings, script: script_fares, module: module.flatten() })
    }
}

/// How a script fares whose keys are in one slot when they carry one tag: and when they don't?
fn in_one_slot(node: &mut Client, shape: &Shape, script: &[u8]) -> Result<String> {
    if shape.touched.len() < 2 {
        return Ok("it has only one key".into());
    }
    let by_caller = shape.touched.iter().all(is_declared);
    if !by_caller {
        return Ok("all its keys are in one slot".into());
    }
    let tagged = "all its keys are in one slot, if the caller puts one hash tag into their names";
    let reply = node.eval(&shape.eval(script, &a_try(), false))?;
    let refused = reply.refuses() && reply.to_string().contains("CROSSSLOT");
    let else_refused = if refused { "; otherwise it is refused: CROSSSLOT" } else { "" };
    Ok(format!("{tagged}{else_refused}"))
}

/// Whether a key is one of KEYS, as it is.
fn is_declared(key: &Template) -> bool {
    matches!(key.slot(), Some(Slot::Key(_)))
}

/// The slots of the keys that the script touches, each with one of these keys.
fn slots_of(node: &mut Client, shape: &Shape) -> Result<BTreeMap<i64, Vec<u8>>> {
    let mut slots = BTreeMap::new();
    for key in &shape.touched {
        let key = key.text(&|slot| shape.value(slot, &a_try(), true));
        if let Value::Int(slot) = node.must(&[&b"CLUSTER"[..], b"KEYSLOT", &key])? {
            slots.entry(slot).or_insert(key);
        }
    }
    Ok(slots)
}

/// Gives each slot away in turn, and tells of the first run that wrote something and failed. Keys
/// that the caller declares are looked at by the server before anything runs.
fn worst(
    node: &mut Client,
    shape: &Shape,
    script: &[u8],
    slots: &BTreeMap<i64, Vec<u8>>,
) -> Result<Option<String>> {
    let stock = shape.stock.text(&|slot| shape.value(slot, &a_try(), true));
    for (slot, key) in slots {
        node.must(&["FLUSHALL"])?;
        if *key != stock {
            node.must(&[&b"SET"[..], &stock, b"5"])?;
        }
        let before = state::read(node)?;
        node.must(&["CLUSTER", "DELSLOTS", &slot.to_string()])?;
        let reply = node.call_script(&shape.eval(script, &a_try(), true))?;
        node.must(&["CLUSTER", "ADDSLOTS", &slot.to_string()])?;
        let after = state::read(node)?;
        if reply.is_error() && before != after {
            let changed: Vec<_> =
                state::differences(&before, &after).into_iter().map(|(key, ..)| key).collect();
            let text = format!(
                "In a cluster it writes half a sale: with {} on another node it changes {}, and \
                 then fails.",
                key.escape_ascii(),
                changed.join(" and ")
            );
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// A sale by the module in a cluster: accepted, and all keys in one slot.
fn of_module(
    programs: &Programs,
    shape: &Shape,
    cure: &Cure,
) -> Result<Option<Result<String, String>>> {
    let by_keys = shape.touched.iter().all(is_declared);
    let (script, by_voucher) = match cure::cluster_script(cure) {
        Some(script) => (script, true),
        None if by_keys => (cure.script.as_str(), false),
        None => return Ok(None),
    };
    let server = Server::cluster(programs, true)?;
    let mut node = server.client()?;
    for (name, value) in &cure.settings {
        node.must(&["CONFIG", "SET", name, value])?;
    }
    let user = &a_try().user;
    let reply = if by_voucher {
        let prefix = cure.settings.iter().find(|(name, _)| *name == "seckill.stock-prefix");
        let prefix = prefix.map_or(STOCK_PREFIX, |(_, value)| value);
        let stock = Naming::Wrapped(b"7").key(prefix.as_bytes());
        node.call(&[&b"SET"[..], &stock, b"5"])?;
        node.call_script(&[&b"EVAL"[..], script.as_bytes(), b"1", b"7", user, b"5001"])?
    } else {
        let stock = shape.stock.text(&|slot| shape.value(slot, &a_try(), true));
        node.call(&[&b"SET"[..], &stock, b"5"])?;
        node.call_script(&shape.eval(script.as_bytes(), &a_try(), true))?
    };
    let after = state::read(&mut node)?;
    let mut slots = Vec::new();
    for key in after.keys() {
        slots.push(node.must(&[&b"CLUSTER"[..], b"KEYSLOT", key])?);
    }
    slots.dedup();
    let failed = reply.is_error()
        || (by_voucher && reply != Reply::Int(Outcome::Accepted.code()))
        || slots.len() != 1;
    let how = if by_voucher {
        format!("{script}, called with the voucher as KEYS[1]")
    } else {
        "the line below, with one hash tag in the names of its keys".to_owned()
    };
    let names: Vec<_> = after.keys().map(|key| key.escape_ascii().to_string()).collect();
    Ok(Some(if failed {
        Err(format!("not with these names: {reply}"))
    } else {
        Ok(format!("{how}: sold, with all its keys in one slot, {}", names.join(" ")))
    }))
}
