//! Harms to a stock: more is sold than there was, or a unit is gone. Judged on keys and replies, by
//! code that knows nothing of the script.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::call::Role;
use crate::examination::{Called, Examination, Run, Step};
use crate::harm::{Found, halves, shown_again};
use crate::learn::Act;
use crate::reply::command;
use crate::template::{Slot, Template};

const OVERSOLD: &str = "more units are sold than there were";

/// The stock, the users who try, how many units each wants, and whether the stock expires.
const PLAYS: [(i64, &[u64], i64, bool); 5] = [
    (1, &[1, 2, 3], 1, false),
    (10, &[1, 1, 2, 2, 3], 1, false),
    (3, &[1, 2, 3, 4, 5], 1, true),
    (9, &[1, 2], 10, false),
    (3, &[1, 2], 2, false),
];

/// What calls of a sale have in common, and how an accepted one looks.
struct Scene<'s> {
    sale: &'s Act,
    stock: Vec<u8>,
    /// Roles that are ids: their values are in a key, a member or a value that is written.
    ids: BTreeSet<Role>,
    units: Option<Role>,
    /// A call that finds many units, and whether the next one has the same reply.
    accepted: Run,
    is_steady: bool,
    /// Whether it asks for the number in the stock, and the script decides anything.
    looks: bool,
}

/// A session with a harm to a stock, the shortest first.
pub fn of_sale(exam: &mut Examination<'_, '_>, sale: &Act) -> Found {
    let Some(scene) = Scene::of(exam, sale)? else { return Ok(None) };
    for (stock, users, units, expires) in PLAYS {
        if units > 1 && sale.units.is_none() {
            continue;
        }
        let turns = exam.play(&scene.steps(stock, users, units, expires))?;
        let Some((at, harm)) = scene.harm(&turns, stock) else { continue };
        if !harm.starts_with(OVERSOLD) || !scene.is_meant(exam)? {
            return shown_again(exam, &turns[..=at], harm, Some(&scene.stock));
        }
    }
    Ok(None)
}

/// An id with a number added, if it is one.
fn plus(value: &[u8], step: u64) -> Vec<u8> {
    let number = String::from_utf8_lossy(value).parse::<u64>();
    number.map_or(value.to_vec(), |number| number.saturating_add(step).to_string().into_bytes())
}

impl<'s> Scene<'s> {
    /// None if a call takes nothing from many units.
    fn of(exam: &mut Examination<'_, '_>, sale: &'s Act) -> Result<Option<Self>> {
        let fixed: Vec<Slot> = sale.key.places().chain(sale.units).collect();
        let written = sale.run.calls.iter().filter(|call| call.writes());
        let words = written.flat_map(|call| sale.run.templates(&call.words)).collect::<Vec<_>>();
        let slots = words.iter().flat_map(Template::places);
        let mut ids = exam.call.roles_of(slots.filter(|slot| !fixed.contains(slot)));
        ids.remove(&Role::Voucher);
        let stock = sale.key.text(&exam.call, &sale.run.step.values);
        let units = sale.units.and_then(|slot| exam.call.word(slot)?.only());
        let (accepted, looks) = (sale.run.clone(), !exam.lua.parts.is_empty());
        let mut scene = Self { sale, stock, ids, units, accepted, is_steady: true, looks };
        let mut plenty = exam.play(&scene.steps(1000, &[1, 2], 1, false))?;
        scene.is_steady = plenty[0].reply == plenty[1].reply;
        scene.accepted = plenty.remove(0);
        let asks = |call: &Called| call.gets(&scene.stock) && call.name.contains("GET");
        let mut calls = scene.accepted.calls.iter();
        scene.looks &= calls.any(|call| !call.writes() && asks(call));
        let sells = scene.taken(&scene.accepted) > 0 && !scene.accepted.reply.is_error();
        Ok(sells.then_some(scene))
    }

    /// The calls of these users, after the keys that they need.
    fn steps(&self, stock: i64, users: &[u64], units: i64, expires: bool) -> Vec<Step> {
        let step = |(turn, user): (usize, &u64)| {
            let mut values = self.sale.run.step.values.clone();
            for role in &self.ids {
                // A user who comes again has another order, but the same of everything else.
                let step = if *role == Role::Order { turn as u64 } else { *user };
                values.entry(*role).and_modify(|value| *value = plus(value, step));
            }
            values.extend(self.units.map(|role| (role, units.to_string().into_bytes())));
            Step { before: Vec::new(), values }
        };
        let mut steps: Vec<Step> = users.iter().enumerate().map(step).collect();
        let mut before = vec![command([b"SET", &self.stock, stock.to_string().as_bytes()])];
        before.extend(self.sale.needs.clone());
        before.extend(expires.then(|| command([b"EXPIRE", &self.stock, b"3600"])));
        steps[0].before = before;
        steps
    }

    fn taken(&self, run: &Run) -> i64 {
        run.taken(&self.stock)
    }

    /// The other keys that changed.
    fn changed(&self, run: &Run) -> BTreeSet<Template> {
        let places = run.before.changes(&run.after).into_iter();
        places.filter(|(key, _)| **key != self.stock).map(|(key, _)| run.template(key)).collect()
    }

    /// Whether a call looks like an accepted one.
    fn sells(&self, run: &Run) -> bool {
        let is_usual = self.changed(run) == self.changed(&self.accepted);
        self.taken(run) > 0 && run.reply == self.accepted.reply && is_usual
    }

    /// The turn with which a harm is done, and what it is.
    fn harm(&self, turns: &[Run], stock: i64) -> Option<(usize, String)> {
        let halves = turns.iter().enumerate().find_map(|(at, turn)| Some((at, halves(turn)?)));
        halves.or_else(|| self.oversold(turns, stock)).or_else(|| self.lost(turns))
    }

    /// More units sold than there were: the script looked at the stock, and sold what it had not.
    fn oversold(&self, turns: &[Run], stock: i64) -> Option<(usize, String)> {
        let mut sold = 0;
        for (at, turn) in turns.iter().enumerate().filter(|_| self.looks) {
            sold += if self.sells(turn) { self.taken(turn) } else { 0 };
            if sold > stock {
                return Some((at, format!("{OVERSOLD}: {sold} of {stock}")));
            }
        }
        None
    }

    /// A unit that left the stock, though the call was answered like one that sells nothing, and
    /// left nothing where those that sell leave something.
    fn lost(&self, turns: &[Run]) -> Option<(usize, String)> {
        let leaves = self.is_steady && !self.changed(&self.accepted).is_empty();
        let at = turns.iter().position(|turn| {
            let is_usual = turns.iter().filter(|other| other.reply == turn.reply).count() > 1;
            let is_there = turn.after.number(&self.stock).is_some_and(|left| left >= 0);
            let is_refused = turn.reply != self.accepted.reply && is_usual;
            let is_lost = self.taken(turn) > 0 && self.changed(turn).is_empty();
            leaves && is_refused && is_lost && is_there
        });
        let reply = &turns[at?].reply;
        let harm = format!(
            "a unit is gone: the call is answered {reply}, as calls that get nothing are, and \
             leaves nothing but a smaller stock"
        );
        Some((at?, harm))
    }

    /// Whether it sells below zero on purpose: down to a number below -1, or as far as an argument
    /// says.
    fn is_meant(&self, exam: &mut Examination<'_, '_>) -> Result<bool> {
        let users: Vec<u64> = (1..40).collect();
        let mut steps = self.steps(1, &users, 1, false);
        let end = |runs: &[Run]| {
            let last = runs.last().filter(|run| self.taken(run) == 0 && !run.reply.is_error());
            last.and_then(|run| run.after.number(&self.stock))
        };
        if let Some(left) = end(&exam.play(&steps)?) {
            return Ok(left < -1);
        }
        let named = exam.call.roles_of(self.sale.key.places());
        for (role, value) in steps.iter_mut().flat_map(|step| &mut step.values) {
            let is_id = self.ids.contains(role) || named.contains(role);
            if matches!(role, Role::Other(_)) && !is_id && self.units != Some(*role) {
                *value = b"0".to_vec();
            }
        }
        Ok(end(&exam.play(&steps)?).is_some_and(|left| left >= 0))
    }
}
