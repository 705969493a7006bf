//! How an accepted call looks, and which calls of a history do a harm.

use std::collections::BTreeMap;

use super::sales::Scene;
use crate::bench::Called;
use crate::call::Slot;
use crate::keyspace::Cell;
use crate::learn::Run;
use crate::template::{Part, Template};

pub const OVERSOLD: &str = "more units are sold than there were";

/// How an accepted call looks.
pub(super) struct Model<'t> {
    pub scene: &'t Scene<'t>,
    pub accepted: &'t Run,
    /// Whether accepted calls have one reply.
    pub same_reply: bool,
    /// Whether accepted calls reply what is left, and calls without a stock take nothing.
    pub counts: bool,
    /// Whether accepted calls ask for the number in the stock.
    pub looks: bool,
}

impl Model<'_> {
    /// The turn with which a harm is done, and what it is.
    pub fn harm(&self, turns: &[Run], users: &[u64], stock: i64) -> Option<(usize, String)> {
        let halves = turns.iter().enumerate().find_map(|(at, turn)| Some((at, turn.halves()?)));
        halves
            .or_else(|| self.oversold(turns, stock))
            .or_else(|| self.lost(turns))
            .or_else(|| self.twice(turns, users))
    }

    fn adds(&self, turn: &Run) -> bool {
        !turn.added(&self.scene.stock).is_empty()
    }

    fn sells(&self, turn: &Run) -> bool {
        let stock = &self.scene.stock;
        let told = match self.counts {
            true => self.scene.counts(turn),
            false => !self.same_reply || turn.seen.reply == self.accepted.seen.reply,
        };
        let shape = turn.shape(stock) == self.accepted.shape(stock);
        self.scene.taken(turn) > 0 && !turn.seen.reply.refuses() && shape && told
    }

    /// More units sold than there were: the script looked at the stock, and sold what it had not.
    fn oversold(&self, turns: &[Run], stock: i64) -> Option<(usize, String)> {
        // Without a trace of the buyers, only a constant reply or the exact number of units left
        // tells that a call has sold.
        let traces = self.adds(self.accepted);
        if !self.looks || !traces && !self.same_reply && !self.counts {
            return None;
        }
        let mut sold = 0;
        for (at, turn) in turns.iter().enumerate() {
            // A reply of -1 could be meant as a refusal.
            let refuses = turn.seen.reply == crate::reply::Reply::Int(-1) && self.counts && !traces;
            if self.sells(turn) && (self.same_reply || !traces || self.adds(turn)) && !refuses {
                sold += self.scene.taken(turn);
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
        let stock = &self.scene.stock;
        let usual = self.accepted.shape(stock);
        if !self.same_reply || usual.is_empty() || !self.adds(self.accepted) {
            return None;
        }
        let mut seen: BTreeMap<_, [usize; 2]> = BTreeMap::new();
        for turn in turns.iter().filter(|turn| turn.seen.reply != self.accepted.seen.reply) {
            seen.entry(&turn.seen.reply).or_default()[usize::from(self.scene.taken(turn) > 0)] += 1;
        }
        let at = turns.iter().position(|turn| {
            let shape = turn.shape(stock);
            let leaves_less = shape.len() < usual.len() && shape.is_subset(&usual);
            let is_refusal =
                seen.get(&turn.seen.reply).is_some_and(|[none, some]| *none > 0 || *some > 1);
            let left = turn.seen.after.number(stock).unwrap_or(-1);
            self.scene.taken(turn) > 0 && leaves_less && !self.adds(turn) && is_refusal && left >= 0
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
        let at = (1..turns.len()).find(|at| {
            let (first, again) = (&turns[at - 1], &turns[*at]);
            let is_trace = |cell: &Cell| {
                let names = |call: &&Called| {
                    call.gets(&cell.key)
                        && (cell.item.is_empty() || call.words.contains(&cell.item))
                };
                let calls = || again.seen.calls.iter().filter(names);
                let same = first.seen.after.cells.get(cell) == again.seen.after.cells.get(cell);
                // A time that is kept beside the stock is of nobody.
                let says = |text: &[u8]| {
                    let mut slots = Template::of(text, &again.slots).0.into_iter();
                    slots.any(|part| matches!(part, Part::Place(Slot::Arg(_))))
                };
                let value = again.seen.after.cells.get(cell).is_some_and(|value| says(value));
                let of_user = says(&cell.key)
                    || says(&cell.item)
                    || cell.key != self.scene.stock.key && !value;
                same && of_user
                    && calls().any(|call| call.writes())
                    && calls().any(|call| !call.writes())
            };
            let stock = &self.scene.stock;
            users[at - 1] == users[*at]
                && self.sells(first)
                && again.seen.reply == first.seen.reply
                && self.scene.taken(again) > 0
                && first.added(stock).iter().any(is_trace)
        })?;
        let stock = &self.scene.stock;
        let units = self.scene.taken(&turns[at - 1]) + self.scene.taken(&turns[at]);
        let trace = turns[at - 1].added(stock).into_iter().next()?;
        Some((
            at,
            format!(
                "a user buys twice: {units} units are sold, and one trace is in the keys, {trace}"
            ),
        ))
    }
}
