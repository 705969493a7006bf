//! Harms to a stock: more is sold than there was, a unit is gone, one user buys twice, or two ids
//! become one.

use std::collections::BTreeSet;

use anyhow::Result;

use super::model::{Model, OVERSOLD};
use super::{Play, Session};
use crate::bench::Called;
use crate::call::{Role, Slot, Values};
use crate::examine::Examination;
use crate::keyspace::{Cell, Kind, planted};
use crate::learn::{Run, Sale};
use crate::wire::Words;

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

/// Ids from here on are not exact as numbers of Lua.
const LARGE: u64 = 1_782_938_471_625_347_073;

/// What calls of a sale have in common.
pub(super) struct Scene<'s> {
    pub sale: &'s Sale,
    pub stock: Cell,
    pub ids: BTreeSet<Role>,
    pub units: Option<Role>,
}

impl Scene<'_> {
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
                let number = String::from_utf8_lossy(value).parse::<u64>();
                *value = number.map_or(value.clone(), |n| (n + step).to_string().into_bytes());
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
        let number = |keys: &crate::keyspace::Keyspace| keys.number(&self.stock);
        number(&turn.before).zip(number(&turn.seen.after)).map_or(0, |(old, new)| old - new)
    }
}

impl Examination<'_, '_, '_> {
    /// A session with a harm to a stock, the shortest first.
    pub fn harm_of_sale(&mut self, sale: &Sale) -> Result<Option<Session>> {
        let mut fixed: Vec<Slot> = sale.stock.places().chain(sale.item.places()).collect();
        fixed.extend(sale.units.ok());
        let (ids, values) = (self.ids(&sale.run, &fixed), &sale.run.values);
        let stock = Cell {
            key: sale.stock.text(&self.call, values),
            kind: sale.kind,
            item: sale.item.text(&self.call, values),
        };
        let units = sale.units.ok().and_then(|slot| self.call.word(slot)?.only());
        let scene = Scene { sale, stock, ids, units };
        let (setup, calls) = scene.calls(1000, &[1, 2], None, false);
        let plenty = self.play(&setup, calls)?;
        let accepted = plenty.turns.first();
        let sold = accepted.filter(|turn| scene.taken(turn) > 0 && !turn.seen.reply.is_error());
        let Some(accepted) = sold else { return Ok(None) };
        let (setup, calls) = scene.calls(0, &[1], None, false);
        let none = self.play(&setup, calls)?;
        let refused = none.turns.iter().all(|turn| scene.taken(turn) == 0);
        let all = &plenty.turns;
        let counts = refused && all.iter().all(|turn| scene.counts(turn));
        let same_reply = all.iter().all(|turn| turn.seen.reply == accepted.seen.reply);
        let looks = self.looks(&scene, accepted)?;
        let model = Model { scene: &scene, accepted, same_reply, counts, looks };
        for (stock, users, units, expires) in PLAYS {
            if units.is_some() && sale.units.is_err() {
                continue;
            }
            let (setup, calls) = scene.calls(stock, users, units, expires);
            let play = self.play(&setup, calls)?;
            if let Some((at, harm)) = model.harm(&play.turns, users, stock) {
                if harm.starts_with(OVERSOLD) && self.is_meant(&scene, &model)? {
                    continue;
                }
                return self.shown_again(play, at, harm, &[&scene.stock]);
            }
        }
        if counts
            && accepted.shape(&scene.stock).is_empty()
            && let Some(session) = self.of_last(&scene)?
        {
            return Ok(Some(session));
        }
        if let Some(turn) = none.turns.first().filter(|turn| turn.seen.reply != accepted.seen.reply)
            && let Some(session) = self.of_too_many(&scene, turn)?
        {
            return Ok(Some(session));
        }
        match self.of_ids(&scene, accepted)? {
            Some(session) => Ok(Some(session)),
            None => self.of_user_limit(&scene),
        }
    }

    /// Whether it sells below zero on purpose: down to a number below -1, or as far as an argument
    /// says.
    fn is_meant(&mut self, scene: &Scene<'_>, model: &Model<'_>) -> Result<bool> {
        let users: Vec<u64> = (1..40).collect();
        let (setup, mut calls) = scene.calls(1, &users, None, false);
        let stops = |play: &Play| {
            let last = play.turns.last();
            last.filter(|turn| scene.taken(turn) == 0 && !turn.seen.reply.is_error())
                .and_then(|turn| turn.seen.after.number(&scene.stock))
        };
        let play = self.play(&setup, calls.clone())?;
        if let Some(number) = stops(&play) {
            return Ok(number < -1);
        }
        let names = scene.sale.stock.places().chain(scene.sale.item.places());
        let role = |slot| self.call.word(slot)?.only();
        let kept: Vec<Role> = names.filter_map(role).chain(scene.units).collect();
        for (role, value) in calls.iter_mut().flatten() {
            let is_kept = kept.contains(role) || scene.ids.contains(role);
            if matches!(role, Role::Other(_)) && !is_kept {
                *value = b"0".to_vec();
            }
        }
        let play = self.play(&setup, calls)?;
        Ok(stops(&play).is_some() && model.harm(&play.turns, &users, 1).is_none())
    }

    /// A call that takes the last units, which no trace shows, and is answered as one for which
    /// there are too few, though there are some: 0 is no number of units there.
    fn of_last(&mut self, scene: &Scene<'_>) -> Result<Option<Session>> {
        let Some(role) = scene.units else { return Ok(None) };
        let (setup, mut calls) = scene.calls(3, &[1, 2], Some(3), false);
        calls[0].insert(role, b"5".to_vec());
        let play = self.play(&setup, calls)?;
        let [refused, last] = play.turns.as_slice() else { return Ok(None) };
        if refused.seen.reply != last.seen.reply
            || scene.taken(refused) != 0
            || scene.taken(last) != 3
        {
            return Ok(None);
        }
        let harm = format!(
            "units are gone: the call that takes the last 3 is answered {}, as the one before, \
             which gets nothing, and leaves nothing but a smaller stock",
            last.seen.reply
        );
        self.shown_again(play, 1, harm, &[&scene.stock])
    }

    /// A call for more units than there are, that is answered like one without a stock, and takes
    /// what there is: nobody gets it, and the next call gets nothing.
    fn of_too_many(&mut self, scene: &Scene<'_>, none: &Run) -> Result<Option<Session>> {
        let Some(role) = scene.units else { return Ok(None) };
        let (setup, mut calls) = scene.calls(3, &[1, 2], None, false);
        calls[0].insert(role, b"5".to_vec());
        let play = self.play(&setup, calls)?;
        let gets_nothing =
            |turn: &Run| turn.seen.reply == none.seen.reply && turn.added(&scene.stock).is_empty();
        let taken = play.turns.first().map_or(0, |turn| scene.taken(turn));
        if taken != 5 || none.seen.reply.is_error() || !play.turns.iter().all(gets_nothing) {
            return Ok(None);
        }
        let harm = format!(
            "units are gone: a call for 5 takes the 3 that are there, though it is answered {}, \
             as calls without a stock are, and the next one for 1 gets nothing",
            none.seen.reply
        );
        self.shown_again(play, 1, harm, &[&scene.stock])
    }

    /// Whether a call asks for the number in the stock: its reply differs with the number.
    fn looks(&mut self, scene: &Scene<'_>, accepted: &Run) -> Result<bool> {
        let reads = |call: &&Called| !call.writes() && call.gets(&scene.stock.key);
        let calls: Vec<Words> =
            accepted.seen.calls.iter().filter(reads).map(|call| call.words.clone()).collect();
        let mut ask = |number: &[u8]| {
            self.bench.plain.clear()?;
            self.bench.plain.send(&[planted(&scene.stock, number)])?;
            self.bench.plain.send(&calls)
        };
        Ok(ask(b"7")? != ask(b"8")?)
    }

    /// Two ids beyond 2^53 that the keys hold as one, or not at all, where smaller ones are kept.
    fn of_ids(&mut self, scene: &Scene<'_>, small: &Run) -> Result<Option<Session>> {
        let (setup, small_calls) = scene.calls(1000, &[1], None, false);
        for role in &scene.ids {
            let (_, mut calls) = scene.calls(1000, &[1, 2], None, false);
            for (number, values) in calls.iter_mut().enumerate() {
                values.insert(*role, (LARGE + number as u64).to_string().into_bytes());
            }
            let ids: Vec<Vec<u8>> = calls.iter().filter_map(|v| v.get(role).cloned()).collect();
            let play = self.play(&setup, calls)?;
            let Some(large) = play.turns.first() else { continue };
            let kept = small_calls.first().and_then(|values| holds(small, values.get(role)?));
            let lost = holds(large, &ids[0]).is_none() && scene.taken(large) > 0;
            let Some(cell) = kept.filter(|_| lost && !large.seen.reply.refuses()) else { continue };
            let rounded = large.changes().into_iter().find(|own| {
                let value = large.seen.after.cells.get(own);
                let text = [&own.key, &own.item, value.unwrap_or(&own.item)]
                    .map(|text| String::from_utf8_lossy(text).into_owned());
                text.iter().any(|text| text.contains("e+18"))
            });
            let Some(rounded) = rounded.filter(|own| own.kind == cell.kind) else { continue };
            let [one, two] = [&ids[0], &ids[1]].map(|id| String::from_utf8_lossy(id).into_owned());
            let harm = format!(
                "two ids become one: neither {one} nor {two} is in {}",
                seckill_tools::sanitize::sanitize_bytes(&rounded.key)
            );
            let last = play.turns.len() - 1;
            return self.shown_again(play, last, harm, &[&rounded]);
        }
        Ok(None)
    }
}

/// The cell that a call changed and that holds an id as a member, a key or a value with the name of
/// an id.
fn holds(turn: &Run, id: &[u8]) -> Option<Cell> {
    let has = |text: &[u8]| text.windows(id.len()).any(|part| part == id);
    let is_name = |text: &[u8]| {
        let name = String::from_utf8_lossy(text).to_lowercase();
        ["id", "uid", "no", "order", "user"].iter().any(|end| name.ends_with(end))
    };
    turn.changes().into_iter().find(|cell| {
        let value = turn.seen.after.cells.get(cell).map(Vec::as_slice).unwrap_or_default();
        let named = |text: &[u8]| {
            let at = text.windows(id.len()).position(|part| part == id);
            let before = at.map(|at| text[..at].trim_ascii_end()).unwrap_or_default();
            let before = before.strip_suffix(b"=").or(before.strip_suffix(b"\":"));
            before.is_some_and(|before| {
                let from =
                    before.iter().rposition(|byte| !byte.is_ascii_alphabetic() && *byte != b'_');
                is_name(&before[from.map_or(0, |at| at + 1)..])
            })
        };
        match cell.kind {
            Kind::Set | Kind::Sorted => has(&cell.item) || has(&cell.key),
            Kind::Text => has(&cell.key) || named(value),
            Kind::Hash => has(&cell.item) || has(&cell.key) || is_name(&cell.item) && has(value),
            Kind::List => value == id || named(value),
            Kind::Stream => named(value),
        }
    })
}

impl Scene<'_> {
    /// Whether the reply is the number of units that are left.
    pub fn counts(&self, turn: &Run) -> bool {
        turn.seen.after.number(&self.stock).map(crate::reply::Reply::Int).as_ref()
            == Some(&turn.seen.reply)
    }
}
