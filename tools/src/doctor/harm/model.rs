//! How an accepted call looks, and which calls of a history do a harm.

use std::collections::{BTreeMap, BTreeSet};

use super::plus;
use crate::bench::Called;
use crate::call::{Role, Slot, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::learn::{Run, Sale};
use crate::reply::Reply;
use crate::template::Template;
use crate::wire::Words;

pub const OVERSOLD: &str = "more units are sold than there were";

/// What calls of a sale have in common, and how an accepted one looks.
pub(super) struct Scene<'s> {
    pub sale: &'s Sale,
    pub stock: Cell,
    pub ids: BTreeSet<Role>,
    pub units: Option<Role>,
    pub accepted: Run,
    /// Whether accepted calls have one reply.
    pub same_reply: bool,
    /// Whether accepted calls reply what is left, and calls without a stock take nothing.
    pub counts: bool,
    /// Whether accepted calls ask for the number in the stock.
    pub looks: bool,
}

impl<'s> Scene<'s> {
    /// Before it is known how an accepted call looks.
    pub fn new(sale: &'s Sale, stock: Cell, ids: BTreeSet<Role>, units: Option<Role>) -> Self {
        let (accepted, same_reply, counts, looks) = (sale.run.clone(), false, false, false);
        Self { sale, stock, ids, units, accepted, same_reply, counts, looks }
    }

    /// The keys before, and the calls of these users.
    pub fn calls(
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
                let Some(value) = values.get_mut(role) else { continue };
                *value = plus(value, step);
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

    pub fn taken(&self, turn: &Run) -> i64 {
        let number = |keys: &Keyspace| keys.number(&self.stock);
        number(&turn.before).zip(number(&turn.seen.after)).map_or(0, |(old, new)| old - new)
    }

    /// Whether the reply is the number of units that are left.
    pub fn tells_left(&self, turn: &Run) -> bool {
        turn.seen.after.number(&self.stock).map(Reply::Int).as_ref() == Some(&turn.seen.reply)
    }

    /// What accepted calls change beside the stock.
    pub fn usual(&self) -> BTreeSet<(Template, Kind)> {
        self.accepted.shape(&self.stock)
    }

    /// The turn with which a harm is done, and what it is.
    pub fn harm(&self, turns: &[Run], users: &[u64], stock: i64) -> Option<(usize, String)> {
        let halves = turns.iter().enumerate().find_map(|(at, turn)| Some((at, turn.halves()?)));
        halves
            .or_else(|| self.oversold(turns, stock))
            .or_else(|| self.lost(turns))
            .or_else(|| self.twice(turns, users))
    }

    fn adds(&self, turn: &Run) -> bool {
        !turn.added(&self.stock).is_empty()
    }

    fn sells(&self, turn: &Run) -> bool {
        let stock = &self.stock;
        let told = match self.counts {
            true => self.tells_left(turn),
            false => !self.same_reply || turn.seen.reply == self.accepted.seen.reply,
        };
        let shape = turn.shape(stock) == self.usual();
        self.taken(turn) > 0 && !turn.seen.reply.refuses() && shape && told
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
                let harm = format!("{OVERSOLD}: {sold} of {stock}");
                return Some((at, harm));
            }
        }
        None
    }

    /// A unit that left the stock, though the call was answered like one that sells nothing, and
    /// left nothing where those that sell leave something.
    fn lost(&self, turns: &[Run]) -> Option<(usize, String)> {
        let stock = &self.stock;
        let usual = self.usual();
        if !self.same_reply || usual.is_empty() || !self.adds(&self.accepted) {
            return None;
        }
        let mut seen: BTreeMap<_, [usize; 2]> = BTreeMap::new();
        for turn in turns.iter().filter(|turn| turn.seen.reply != self.accepted.seen.reply) {
            seen.entry(&turn.seen.reply).or_default()[usize::from(self.taken(turn) > 0)] += 1;
        }
        let at = turns.iter().position(|turn| {
            let shape = turn.shape(stock);
            let leaves_less = shape.len() < usual.len() && shape.is_subset(&usual);
            let is_refusal =
                seen.get(&turn.seen.reply).is_some_and(|[none, some]| *none > 0 || *some > 1);
            let left = turn.seen.after.number(stock).unwrap_or(-1);
            self.taken(turn) > 0 && leaves_less && !self.adds(turn) && is_refusal && left >= 0
        })?;
        let reply = &turns[at].seen.reply;
        let harm = format!(
            "a unit is gone: the call is answered {reply}, as calls that get nothing are, and \
             leaves nothing but a smaller stock"
        );
        Some((at, harm))
    }

    /// A user who buys again, though the script has written a trace of the first time, reads it,
    /// and writes it again.
    fn twice(&self, turns: &[Run], users: &[u64]) -> Option<(usize, String)> {
        let (at, trace) = (1..turns.len()).find_map(|at| {
            let (first, again) = (&turns[at - 1], &turns[at]);
            let sells = self.sells(first) && self.taken(again) > 0;
            let same = users[at - 1] == users[at] && again.seen.reply == first.seen.reply;
            let mut added = first.added(&self.stock).into_iter().filter(|_| sells && same);
            Some((at, added.find(|cell| self.is_trace(cell, first, again))?))
        })?;
        let units = self.taken(&turns[at - 1]) + self.taken(&turns[at]);
        let harm = format!(
            "a user buys twice: {units} units are sold, and one trace is in the keys, {trace}"
        );
        Some((at, harm))
    }

    fn is_trace(&self, cell: &Cell, first: &Run, again: &Run) -> bool {
        let names = |call: &&Called| {
            call.gets(&cell.key) && (cell.item.is_empty() || call.words.contains(&cell.item))
        };
        let calls = || again.seen.calls.iter().filter(names);
        let [old, new] = [first, again].map(|turn| turn.seen.after.cells.get(cell));
        let says = |text: &[u8]| {
            let found = Template::of(text, &again.slots);
            found.places().any(|slot| matches!(slot, Slot::Arg(_)))
        };
        // A time that is kept beside the stock is of nobody.
        let is_beside = cell.key == self.stock.key || new.is_some_and(|value| says(value));
        let of_user = says(&cell.key) || says(&cell.item) || !is_beside;
        old == new
            && of_user
            && calls().any(|call| call.writes())
            && calls().any(|call| !call.writes())
    }
}
