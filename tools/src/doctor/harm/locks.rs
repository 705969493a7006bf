//! Harms to a lock, and to a stock that gets units back.

use anyhow::Result;

use crate::call::Role;
use crate::examine::Examination;
use crate::keyspace::{Cell, Kind, planted};
use crate::learn::{Marks, Run, marks};
use crate::template::Template;

/// Two tokens: neighbours, of which one begins or contains the other, and equal as numbers.
const TOKENS: [(&str, &str); 7] = [
    ("12", "13"),
    ("7f3e", "a90c"),
    ("5d1b6c1e-0a41-4b7e-9a52-3f7f0c8e2d10", "c2a9e8f4-7be3-4d0f-8f6d-90b1a2c3d4e5"),
    ("1782938471625347073", "1782938471625347074"),
    ("12", "123"),
    ("12", "312"),
    ("client-a", "CLIENT-A"),
];

impl Examination<'_, '_, '_> {
    /// A lock of another token that a call deletes, though it looks at the lock. Unless `is_sure`
    /// that it is one, it must spare the lock of another token.
    pub fn harm_of_lock(&mut self, key: &Template, kind: Kind, is_sure: bool) -> Result<bool> {
        let (mut is_spared, mut first) = (false, None);
        for (own, other) in TOKENS {
            let mut values = marks(&self.call, Marks::Rising);
            for (role, value) in &mut values {
                if matches!(role, Role::Token | Role::Other(_)) {
                    *value = own.into();
                }
            }
            let name = key.text(&self.call, &values);
            let item = if kind == Kind::Hash { other.into() } else { Vec::new() };
            let cell = Cell { key: name.clone(), kind, item };
            let value = if kind == Kind::Hash { "1" } else { other };
            let play = self.play(&[planted(&cell, value.as_bytes())], vec![values])?;
            let turn = &play.turns[0];
            let looks = turn.seen.calls.iter().any(|call| !call.writes() && call.gets(&name));
            let deleted = !turn.seen.after.has_key(&name);
            is_spared |= !deleted;
            if deleted && looks && first.is_none() {
                let harm =
                    format!("another's lock is deleted: {other} holds it, and {own} releases it");
                first = Some((play, harm, cell));
            }
        }
        match first.filter(|_| is_sure || is_spared) {
            Some((play, harm, cell)) => self.shown_again(play, 0, harm, &[&cell]),
            None => Ok(false),
        }
    }

    /// A call that takes something back and puts units into a stock, and puts them there again
    /// when it is repeated, though there is nothing left to take back.
    pub fn harm_of_repeat(&mut self, run: &Run) -> Result<bool> {
        // A stock of four, of which one unit is with a user.
        let plants = run.plants.iter().map(|(cell, value)| {
            let is_stock = run.before.number(cell) < run.seen.after.number(cell);
            planted(cell, if is_stock { b"4" } else { value })
        });
        let setup: Vec<_> = plants.collect();
        let play = self.play(&setup, vec![run.values.clone(), run.values.clone()])?;
        let (first, again) = (&play.turns[0], &play.turns[1]);
        let mut changes = first.changes().into_iter();
        let grown = changes.clone().find(|cell| first.grew(cell) > 0);
        let gone = changes.find(|cell| !first.seen.after.cells.contains_key(cell));
        // The trace of a user in a set, not what was to be done.
        let is_trace = |cell: &Cell| {
            let mut words = [&cell.item, &cell.key].into_iter();
            let names = |word: &Vec<u8>| Template::of(word, &run.slots).places().next().is_some();
            cell.kind == Kind::Set && words.any(names)
        };
        let (Some(stock), Some(gone)) = (grown, gone.filter(is_trace)) else { return Ok(false) };
        let by = first.grew(&stock);
        if by != again.grew(&stock) || again.changes().len() > 1 || again.seen.reply.refuses() {
            return Ok(false);
        }
        let harm = format!(
            "units are put back twice: the same call again adds {by} to {stock}, though {gone} \
             went with the first"
        );
        self.shown_again(play, 1, harm, &[&stock])
    }
}
