//! Harms to a stock: more is sold than there was, a unit is gone, one user buys twice, or two ids
//! become one.

use anyhow::Result;
use regex::Regex;

use super::Play;
use super::model::{OVERSOLD, Scene};
use crate::bench::Called;
use crate::call::{Role, Slot};
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

impl Examination<'_, '_, '_> {
    /// A session with a harm to a stock, the shortest first.
    pub fn harm_of_sale(&mut self, sale: &Sale) -> Result<bool> {
        let mut fixed: Vec<Slot> = sale.stock.places().chain(sale.item.places()).collect();
        fixed.extend(sale.units.ok());
        let (ids, values) = (self.ids(&sale.run, &fixed), &sale.run.values);
        let stock = Cell {
            key: sale.stock.text(&self.call, values),
            kind: sale.kind,
            item: sale.item.text(&self.call, values),
        };
        let units = sale.units.ok().and_then(|slot| self.call.word(slot)?.only());
        let mut scene = Scene::new(sale, stock, ids, units);
        let (setup, calls) = scene.calls(1000, &[1, 2], None, false);
        let plenty = self.play(&setup, calls)?.turns;
        scene.accepted = plenty[0].clone();
        if scene.taken(&plenty[0]) <= 0 || plenty[0].seen.reply.is_error() {
            return Ok(false);
        }
        let (setup, calls) = scene.calls(0, &[1], None, false);
        let none = self.play(&setup, calls)?.turns.remove(0);
        scene.counts = scene.taken(&none) == 0 && plenty.iter().all(|turn| scene.tells_left(turn));
        scene.same_reply = plenty.iter().all(|turn| turn.seen.reply == plenty[0].seen.reply);
        scene.looks = self.looks(&scene)?;
        for (stock, users, units, expires) in PLAYS {
            if units.is_some() && sale.units.is_err() {
                continue;
            }
            let (setup, calls) = scene.calls(stock, users, units, expires);
            let play = self.play(&setup, calls)?;
            if let Some((at, harm)) = scene.harm(&play.turns, users, stock) {
                if harm.starts_with(OVERSOLD) && self.is_meant(&scene)? {
                    continue;
                }
                return self.shown_again(play, at, harm, &[&scene.stock]);
            }
        }
        Ok(scene.counts && scene.usual().is_empty() && self.of_last(&scene)?
            || self.of_too_many(&scene, &none)?
            || self.of_ids(&scene)?
            || self.of_user_limit(&scene)?)
    }

    /// Whether it sells below zero on purpose: down to a number below -1, or as far as an argument
    /// says.
    fn is_meant(&mut self, scene: &Scene<'_>) -> Result<bool> {
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
        Ok(stops(&play).is_some() && scene.harm(&play.turns, &users, 1).is_none())
    }

    /// A call that takes the last units, which no trace shows, and is answered as one for which
    /// there are too few, though there are some: 0 is no number of units there.
    fn of_last(&mut self, scene: &Scene<'_>) -> Result<bool> {
        let Some(role) = scene.units else { return Ok(false) };
        let (setup, mut calls) = scene.calls(3, &[1, 2], Some(3), false);
        calls[0].insert(role, b"5".to_vec());
        let play = self.play(&setup, calls)?;
        let (refused, last) = (&play.turns[0], &play.turns[1]);
        let taken = [refused, last].map(|turn| scene.taken(turn));
        if refused.seen.reply != last.seen.reply || taken != [0, 3] {
            return Ok(false);
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
    fn of_too_many(&mut self, scene: &Scene<'_>, none: &Run) -> Result<bool> {
        let is_other = none.seen.reply != scene.accepted.seen.reply;
        let Some(role) = scene.units.filter(|_| is_other) else { return Ok(false) };
        let (setup, mut calls) = scene.calls(3, &[1, 2], None, false);
        calls[0].insert(role, b"5".to_vec());
        let play = self.play(&setup, calls)?;
        let gets_nothing =
            |turn: &Run| turn.seen.reply == none.seen.reply && turn.added(&scene.stock).is_empty();
        let taken = scene.taken(&play.turns[0]);
        if taken != 5 || none.seen.reply.is_error() || !play.turns.iter().all(gets_nothing) {
            return Ok(false);
        }
        let harm = format!(
            "units are gone: a call for 5 takes the 3 that are there, though it is answered {}, \
             as calls without a stock are, and the next one for 1 gets nothing",
            none.seen.reply
        );
        self.shown_again(play, 1, harm, &[&scene.stock])
    }

    /// Whether a call asks for the number in the stock: its reply differs with the number.
    fn looks(&mut self, scene: &Scene<'_>) -> Result<bool> {
        let reads = |call: &&Called| !call.writes() && call.gets(&scene.stock.key);
        let calls = scene.accepted.seen.calls.iter().filter(reads);
        let calls: Vec<Words> = calls.map(|call| call.words.clone()).collect();
        let mut ask = |number: &[u8]| {
            self.bench.plain.clear()?;
            self.bench.plain.send(&[planted(&scene.stock, number)])?;
            self.bench.plain.send(&calls)
        };
        Ok(ask(b"7")? != ask(b"8")?)
    }

    /// Two ids beyond 2^53 that the keys hold as one, or not at all, where smaller ones are kept.
    fn of_ids(&mut self, scene: &Scene<'_>) -> Result<bool> {
        for role in &scene.ids {
            let (setup, mut calls) = scene.calls(1000, &[1, 2], None, false);
            for (number, values) in calls.iter_mut().enumerate() {
                values.insert(*role, (LARGE + number as u64).to_string().into_bytes());
            }
            let ids: Vec<Vec<u8>> = calls.iter().filter_map(|v| v.get(role).cloned()).collect();
            let play = self.play(&setup, calls)?;
            let large = &play.turns[0];
            let small = &scene.accepted;
            let kept = small.values.get(role).and_then(|id| holds(small, id));
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
        Ok(false)
    }
}

/// The cell that a call changed and that holds an id as a member, a key or a value with the name of
/// an id.
fn holds(turn: &Run, id: &[u8]) -> Option<Cell> {
    let id = String::from_utf8_lossy(id);
    let name = format!(r#"(?i)(?:id|no|order|user)(?:=|":)\s*{}"#, regex::escape(&id));
    let name = Regex::new(&name).ok()?;
    turn.changes().into_iter().find(|cell| {
        let value = turn.seen.after.cells.get(cell).unwrap_or(&cell.item);
        let [key, item, value] =
            [&cell.key, &cell.item, value].map(|text| String::from_utf8_lossy(text));
        let in_key = key.contains(&*id);
        match cell.kind {
            Kind::Set | Kind::Sorted => in_key || item.contains(&*id),
            Kind::Text => in_key || name.is_match(&value),
            Kind::Hash => {
                in_key || item.contains(&*id) || name.is_match(&format!("{item}={value}"))
            }
            Kind::List => value == id || name.is_match(&value),
            Kind::Stream => name.is_match(&value),
        }
    })
}
