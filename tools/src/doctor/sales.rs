//! Harms to a stock: more is sold than there was, or a unit is gone. Judged on keys and replies, by
//! code that knows nothing of the script.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::call::{Role, Values};
use crate::examination::{Called, Examination, Run};
use crate::harm::{Found, shown_again};
use crate::keyspace::{Cell, Kind, planted};
use crate::learn::Act;
use crate::reply::{Reply, Words};
use crate::template::{Slot, Template};

const OVERSOLD: &str = "more units are sold than there were";

/// The stock, the users who try, how many units each wants, and whether the stock expires.
const PLAYS: [(i64, &[u64], Option<i64>, bool); 12] = [
    (1, &[1, 2, 3], None, false),
    (10, &[1, 1, 2, 2, 3], None, false),
    (3, &[1, 2, 3, 4, 5], None, true),
    (2, &[1, 2, 3, 4, 5], None, false),
    (1, &[1, 2], Some(2), false),
    (9, &[1, 2], Some(10), false),
    (9, &[1], Some(20), false),
    (3, &[1, 2], Some(5), false),
    (10, &[1, 2, 3, 4, 5, 6], Some(2), false),
    (5, &[1, 1, 2], Some(2), true),
    (10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], None, false),
    (0, &[1, 2], None, false),
];

/// What calls of a sale have in common, and how an accepted one looks.
struct Scene<'s> {
    sale: &'s Act,
    stock: Cell,
    /// Roles that are ids: their values are in a key, a member or a value that is written.
    ids: BTreeSet<Role>,
    units: Option<Role>,
    accepted: Run,
    /// What accepted calls change beside the stock.
    usual: BTreeSet<(Template, Kind)>,
    /// Whether accepted calls have one reply.
    same_reply: bool,
    /// Whether accepted calls reply what is left, and calls without a stock take nothing.
    counts: bool,
    /// Whether accepted calls ask for the number in the stock, and the script decides anything.
    looks: bool,
}

/// A session with a harm to a stock, the shortest first.
pub fn of_sale(exam: &mut Examination<'_, '_>, sale: &Act) -> Found {
    let Some(scene) = Scene::of(exam, sale)? else { return Ok(None) };
    for (stock, users, units, expires) in PLAYS {
        if units.is_some() && sale.units.is_none() {
            continue;
        }
        let (setup, calls) = scene.calls(stock, users, units, expires);
        let turns = exam.play(&setup, &calls)?;
        if let Some((at, harm)) = scene.harm(&turns, stock) {
            if harm.starts_with(OVERSOLD) && scene.is_meant(exam)? {
                continue;
            }
            return shown_again(exam, &setup, &turns[..=at], harm, Some(&scene.stock.key));
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
        let values = &sale.run.values;
        let key = sale.key.text(&exam.call, values);
        let fixed: Vec<Slot> = sale.key.places().chain(sale.units).collect();
        let written = sale.run.seen.calls.iter().filter(|call| call.writes());
        let words = written.flat_map(|call| &call.words).map(|word| sale.run.template(word));
        let slots = words.flat_map(|word| word.places().collect::<Vec<_>>());
        let mut ids = exam.call.roles_of(slots.filter(|slot| !fixed.contains(slot)));
        ids.remove(&Role::Voucher);
        let mut scene = Self {
            sale,
            stock: Cell { key, kind: Kind::Text, item: Vec::new() },
            ids,
            units: sale.units.and_then(|slot| exam.call.role(slot)),
            accepted: sale.run.clone(),
            usual: BTreeSet::new(),
            same_reply: false,
            counts: false,
            looks: false,
        };
        let (setup, calls) = scene.calls(1000, &[1, 2], None, false);
        let plenty = exam.play(&setup, &calls)?;
        scene.accepted = plenty[0].clone();
        if scene.taken(&plenty[0]) <= 0 || plenty[0].seen.reply.is_error() {
            return Ok(None);
        }
        scene.usual = scene.accepted.shape(&scene.stock);
        let (setup, calls) = scene.calls(0, &[1], None, false);
        let none = exam.play(&setup, &calls)?.remove(0);
        scene.counts = scene.taken(&none) == 0 && plenty.iter().all(|turn| scene.tells_left(turn));
        scene.same_reply = plenty.iter().all(|turn| turn.seen.reply == plenty[0].seen.reply);
        let asks = |call: &Called| call.gets(&scene.stock.key) && call.name.contains("GET");
        scene.looks = !exam.lua.parts.is_empty()
            && scene.accepted.seen.calls.iter().any(|call| !call.writes() && asks(call));
        Ok(Some(scene))
    }

    /// The keys before, and the calls of these users.
    fn calls(
        &self,
        stock: i64,
        users: &[u64],
        units: Option<i64>,
        expires: bool,
    ) -> (Vec<Words>, Vec<Values>) {
        let values_of = |(turn, user): (usize, &u64)| {
            let mut values = self.sale.run.values.clone();
            for role in &self.ids {
                // A user who comes again has another order, but the same of everything else.
                let step = if *role == Role::Order { turn as u64 } else { *user };
                values.entry(*role).and_modify(|value| *value = plus(value, step));
            }
            if let Some(role) = self.units {
                values.insert(role, units.unwrap_or(1).to_string().into_bytes());
            }
            values
        };
        let mut setup = vec![planted(&self.stock, stock.to_string().as_bytes())];
        setup.extend(self.sale.needs.clone());
        if expires {
            setup.push(vec![b"EXPIRE".to_vec(), self.stock.key.clone(), b"3600".to_vec()]);
        }
        (setup, users.iter().enumerate().map(values_of).collect())
    }

    fn taken(&self, turn: &Run) -> i64 {
        turn.taken(&self.stock)
    }

    /// Whether the reply is the number of units that are left.
    fn tells_left(&self, turn: &Run) -> bool {
        turn.seen.after.number(&self.stock).map(Reply::Int).as_ref() == Some(&turn.seen.reply)
    }

    fn adds(&self, turn: &Run) -> bool {
        !turn.added(&self.stock).is_empty()
    }

    fn sells(&self, turn: &Run) -> bool {
        let told = match self.counts {
            true => self.tells_left(turn),
            false => !self.same_reply || turn.seen.reply == self.accepted.seen.reply,
        };
        let shape = turn.shape(&self.stock) == self.usual;
        self.taken(turn) > 0 && !turn.seen.reply.refuses() && shape && told
    }

    /// The turn with which a harm is done, and what it is.
    fn harm(&self, turns: &[Run], stock: i64) -> Option<(usize, String)> {
        let halves = turns.iter().enumerate().find_map(|(at, turn)| Some((at, turn.halves()?)));
        halves.or_else(|| self.oversold(turns, stock)).or_else(|| self.lost(turns))
    }

    /// More units sold than there were: the script looked at the stock, and sold what it had not.
    fn oversold(&self, turns: &[Run], stock: i64) -> Option<(usize, String)> {
        // Without a trace of the buyers, only a constant reply or the exact number of units left
        // tells that a call has sold.
        let traces = self.adds(&self.accepted);
        if !self.looks || !traces && !self.same_reply && !self.counts {
            return None;
        }
        let mut sold = 0;
        for (at, turn) in turns.iter().enumerate() {
            // A reply of -1 could be meant as a refusal.
            let refuses = turn.seen.reply == Reply::Int(-1) && self.counts && !traces;
            if self.sells(turn) && (self.same_reply || !traces || self.adds(turn)) && !refuses {
                sold += self.taken(turn);
            }
            if sold > stock {
                return Some((at, format!("{OVERSOLD}: {sold} of {stock}")));
            }
        }
        None
    }

    /// A unit that left the stock, though the call was answered like one that sells nothing, and
    /// left nothing where those that sell leave something.
    fn lost(&self, turns: &[Run]) -> Option<(usize, String)> {
        if !self.same_reply || self.usual.is_empty() || !self.adds(&self.accepted) {
            return None;
        }
        let mut seen: BTreeMap<_, [usize; 2]> = BTreeMap::new();
        for turn in turns.iter().filter(|turn| turn.seen.reply != self.accepted.seen.reply) {
            seen.entry(&turn.seen.reply).or_default()[usize::from(self.taken(turn) > 0)] += 1;
        }
        let at = turns.iter().position(|turn| {
            let shape = turn.shape(&self.stock);
            let leaves_less = shape.len() < self.usual.len() && shape.is_subset(&self.usual);
            let is_refusal =
                seen.get(&turn.seen.reply).is_some_and(|[none, some]| *none > 0 || *some > 1);
            let left = turn.seen.after.number(&self.stock).unwrap_or(-1);
            self.taken(turn) > 0 && leaves_less && !self.adds(turn) && is_refusal && left >= 0
        })?;
        let reply = &turns[at].seen.reply;
        let harm = format!(
            "a unit is gone: the call is answered {reply}, as calls that get nothing are, and \
             leaves nothing but a smaller stock"
        );
        Some((at, harm))
    }

    /// Whether it sells below zero on purpose: down to a number below -1, or as far as an argument
    /// says.
    fn is_meant(&self, exam: &mut Examination<'_, '_>) -> Result<bool> {
        let users: Vec<u64> = (1..40).collect();
        let (setup, mut calls) = self.calls(1, &users, None, false);
        let stops = |turns: &[Run]| {
            let last = turns.last();
            last.filter(|turn| self.taken(turn) == 0 && !turn.seen.reply.is_error())
                .and_then(|turn| turn.seen.after.number(&self.stock))
        };
        if let Some(number) = stops(&exam.play(&setup, &calls)?) {
            return Ok(number < -1);
        }
        let kept = exam.call.roles_of(self.sale.key.places());
        for (role, value) in calls.iter_mut().flatten() {
            let is_kept = kept.contains(role) || self.units == Some(*role);
            if matches!(role, Role::Other(_)) && !is_kept && !self.ids.contains(role) {
                *value = b"0".to_vec();
            }
        }
        let turns = exam.play(&setup, &calls)?;
        Ok(stops(&turns).is_some() && self.harm(&turns, 1).is_none())
    }
}
