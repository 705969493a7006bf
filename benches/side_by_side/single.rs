//! Commands on a single key, compared with the usual scripts: the release of a lock, by its owner
//! and by another client, and a deduction from a bare stock.

use crate::Result;
use crate::options::Size;
use crate::stand::{DEDUCT, Stand, UNLOCK, evalsha};
use crate::table::{Table, costs};
use crate::tries::{DIFFERENT, GET};
use crate::wire::{Load, PIPELINE};

pub const OWNER: &str = "7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:42";
const STRANGER: &str = "7f9c24e5-1a63-4d0b-b1ce-5e0a4e7d2c11:43";
const LEASE_MS: &str = "600000";
const UNLOCK_SCRIPT: &str = "unlock script";
const RELEASE: &str = "LOCK.RELEASE";
const STOCK_SCRIPT: &str = "stock script";
const DEDUCT_COMMAND: &str = "SECKILL.DEDUCT";
const STOCK: &str = "stock:phone";
/// The units left at the end, so that all replies have the same length.
const LEFT: usize = 1_000_000;

pub fn lock(number: usize) -> String {
    format!("lock:order:{}", 1_000_001 + number)
}

pub fn release(script: bool, lock: &str, token: &str) -> Vec<String> {
    let mut words =
        if script { evalsha(UNLOCK, &[lock]) } else { vec![RELEASE.into(), lock.into()] };
    words.push(token.to_owned());
    words
}

/// Every lock can be released only once, so each turn first acquires all, without measuring that.
pub fn releases(size: &Size) -> Result<Vec<Table>> {
    let title = "Server CPU per release of a lock, in microseconds";
    let mut table = Table::new(title, &[""], &[(UNLOCK_SCRIPT, RELEASE)]);
    for (name, token, reply, passes) in [
        ("released by its owner", OWNER, ":1\r\n", 1),
        ("refused to a stranger", STRANGER, ":0\r\n", size.losing / DIFFERENT),
    ] {
        let count = if token == OWNER { size.accepted } else { DIFFERENT };
        let mut acquire = Load::new(PIPELINE);
        let mut loads = [Load::new(PIPELINE), Load::new(PIPELINE)];
        for lock in (0..count).map(lock) {
            acquire.push(&["SET", &lock, OWNER, "PX", LEASE_MS], "+OK\r\n");
            for (load, is_script) in loads.iter_mut().zip([true, false]) {
                load.push(&release(is_script, &lock, token), reply);
            }
        }
        let mut stand = Stand::new(false)?;
        let costs = costs(size.rounds, &[UNLOCK_SCRIPT, RELEASE], |place| {
            stand.send(&acquire)?;
            let micros = stand.measure(&loads[place], passes)? / count as f64;
            let left: usize = stand.run(&["DBSIZE"])?;
            let wanted = if token == OWNER { 0 } else { count };
            let is_right = left == wanted;
            is_right.then_some(micros).ok_or_else(|| format!("{left} locks, not {wanted}").into())
        })?;
        table.push(name, costs);
    }
    Ok(vec![table])
}

/// All contenders take one unit at a time from one key.
pub fn deductions(size: &Size) -> Result<Vec<Table>> {
    let title = "Server CPU per deduction from a bare stock, in microseconds";
    let mut table = Table::new(title, &[""], &[(STOCK_SCRIPT, DEDUCT_COMMAND)]);
    let taken = (LEFT + size.accepted, size.accepted, 1);
    let refused = (0, DIFFERENT, size.losing / DIFFERENT);
    let mut stand = Stand::new(false)?;
    for (name, (stock, commands, passes)) in [("a unit taken", taken), ("nothing left", refused)] {
        let contenders = [STOCK_SCRIPT, DEDUCT_COMMAND, GET];
        let takes = |who: &str| who != GET && stock > 0;
        let loads = contenders.map(|who| {
            let words = match who {
                STOCK_SCRIPT => [evalsha(DEDUCT, &[STOCK]), vec!["1".into()]].concat(),
                GET => vec![GET.to_owned(), STOCK.to_owned()],
                _ => vec![DEDUCT_COMMAND.to_owned(), STOCK.to_owned(), "1".to_owned()],
            };
            // Each reply contains the units left, so no other connection may send in between.
            let mut load = Load::in_order(PIPELINE);
            for number in 0..commands {
                let left = stock - if takes(who) { number } else { 0 };
                let reply = match who {
                    GET => format!("${}\r\n{left}\r\n", left.to_string().len()),
                    _ => format!(":{left}\r\n"),
                };
                load.push(&words, &reply);
            }
            load
        });
        let costs = costs(size.rounds, &contenders, |place| {
            // The first time warms the caches.
            let () = stand.run(&["SET", STOCK, &stock.to_string()])?;
            stand.send(&loads[place])?;
            let () = stand.run(&["SET", STOCK, &stock.to_string()])?;
            let micros = stand.measure(&loads[place], passes)? / commands as f64;
            let left: usize = stand.run(&["GET", STOCK])?;
            let wanted = stock - if takes(contenders[place]) { commands } else { 0 };
            let is_right = left == wanted;
            is_right.then_some(micros).ok_or_else(|| format!("{left} left, not {wanted}").into())
        })?;
        table.push(name, costs);
    }
    Ok(vec![table])
}
