//! Harms to a limit: a number that the caller passes, or that is in a key, and that calls are
//! shown to stop at, or one after.

use anyhow::Result;

use super::model::Scene;
use super::{Play, plus};
use crate::call::{Role, Values};
use crate::examine::Examination;
use crate::keyspace::{Cell, planted};
use crate::learn::{PLENTY, Run};
use crate::wire::Words;

/// Where a limit is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Limit {
    Passed(Role),
    /// In this planted cell.
    Kept(Cell),
    /// In the script.
    Fixed,
}

/// Limits, and units of which as many calls go beyond them.
const BEYOND: [(i64, i64); 6] = [(3, 2), (5, 3), (4, 10), (9, 10), (12, 5), (2, 30)];

impl Examination<'_, '_, '_> {
    fn limits(&self, run: &Run, but: &[Role]) -> Vec<Limit> {
        let roles = self.call.roles().into_iter().filter(|role| !but.contains(role));
        let roles = roles.filter(|role| matches!(role, Role::Other(_)));
        let kept = run.plants.iter().filter(|(_, value)| value == PLENTY.as_bytes());
        roles.map(Limit::Passed).chain(kept.map(|(cell, _)| Limit::Kept(cell.clone()))).collect()
    }

    /// By how many more than a limit says calls are let in until one is not, if it is the same for
    /// limits of every size, and none is let in after that; and what shows the first.
    fn let_in(
        &mut self,
        (limit, tried): (&Limit, &[i64]),
        calls: &dyn Fn(usize) -> (Vec<Words>, Vec<Values>),
        lets: &dyn Fn(&Play, &Run) -> bool,
    ) -> Result<Option<(i64, Play)>> {
        let mut found: Option<(i64, Play)> = None;
        for most in tried {
            let (mut setup, mut values) = calls(usize::try_from(*most + 3)?);
            set_limit(limit, *most, &mut setup, &mut values);
            let play = self.play(&setup, values)?;
            let let_in = |turn: &Run| lets(&play, turn);
            let count = play.turns.iter().take_while(|turn| let_in(turn)).count();
            let (by, rest) = (count as i64 - most, &play.turns[count..]);
            if rest.is_empty() || rest.iter().any(let_in) {
                return Ok(None);
            }
            match &found {
                None => found = Some((by, play)),
                Some((own, _)) if *own != by => return Ok(None),
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// A user who gets more of a stock than a limit says.
    pub(super) fn of_user_limit(&mut self, scene: &Scene<'_>) -> Result<bool> {
        let units = scene.units.filter(|_| scene.sale.units.is_ok());
        let ids = scene.ids.iter().copied().chain(units).collect::<Vec<_>>();
        let mut limits = self.limits(&scene.sale.run, &ids);
        limits.retain(|limit| *limit != Limit::Kept(scene.stock.clone()));
        limits.push(Limit::Fixed);
        for limit in limits {
            let is_fixed = limit == Limit::Fixed;
            let tried: &[i64] = if is_fixed { &[8] } else { &[2, 3, 4] };
            let calls = |calls| scene.calls(1000, &vec![1; calls], Some(1), false);
            let sells = |_: &Play, turn: &Run| scene.taken(turn) > 0 && !turn.seen.reply.refuses();
            let found = self.let_in((&limit, tried), &calls, &sells)?;
            let Some((by, play)) = found.filter(|(by, _)| tried[0] + by > 1) else { continue };
            if !is_fixed && by == 1 {
                let harm = "more is sold than the limit says: 3 of 2".to_owned();
                return self.shown_again(play, 2, harm, &[&scene.stock]);
            }
            let Some(role) = units.filter(|_| is_fixed || by == 0) else { continue };
            for (most, units) in BEYOND {
                let most = if is_fixed { tried[0] + by } else { most };
                // One user shows where the limit is, another goes beyond it.
                let ones = usize::try_from(most + 1)?;
                let users = [vec![1; ones], vec![2; 6]].concat();
                let (mut setup, mut values) = scene.calls(1000, &users, Some(1), false);
                for values in values.iter_mut().skip(ones) {
                    values.insert(role, units.to_string().into_bytes());
                }
                set_limit(&limit, most, &mut setup, &mut values);
                let play = self.play(&setup, values)?;
                let (first, second) = play.turns.split_at(ones);
                if first.iter().filter(|turn| scene.taken(turn) == 1).count() != ones - 1 {
                    continue;
                }
                let beyond = |turn: &Run| {
                    let mut all = turn.changes().into_iter();
                    let sells = scene.taken(turn) == units && !turn.seen.reply.refuses();
                    let cell = all.find(|cell| {
                        let number = turn.seen.after.number(cell);
                        *cell != scene.stock && turn.grew(cell) > 0 && number > Some(most)
                    });
                    cell.filter(|_| sells)
                };
                let mut second = second.iter().enumerate();
                if let Some((at, cell)) = second.find_map(|(at, turn)| Some((at, beyond(turn)?))) {
                    let at = at + ones;
                    let number = play.turns[at].seen.after.number(&cell).unwrap_or(0);
                    let harm = format!(
                        "more is sold than the limit says: {cell} is {number}, and calls of one \
                         unit stop at {most}"
                    );
                    return self.shown_again(play, at, harm, &[&cell]);
                }
            }
        }
        Ok(false)
    }

    /// One more is let in than a quota says: calls of different users, each of which adds.
    pub fn harm_of_quota(&mut self, run: &Run) -> Result<bool> {
        let ids = self.ids(run, &[]);
        for limit in self.limits(run, &[]) {
            if let Limit::Kept(cell) = &limit
                && run.changes().contains(cell)
            {
                continue;
            }
            let user = |user: usize| -> Values {
                let is_id = |role: &Role| ids.contains(role) && limit != Limit::Passed(*role);
                let value = |(role, value): (&Role, &Vec<u8>)| match is_id(role) {
                    true => (*role, plus(value, user as u64)),
                    false => (*role, value.clone()),
                };
                run.values.iter().map(value).collect()
            };
            let calls = |calls| (run.setup(), (0..calls).map(user).collect());
            let adds = |play: &Play, turn: &Run| {
                let is_more =
                    |cell: &Cell| !turn.before.cells.contains_key(cell) || turn.grew(cell) > 0;
                let reply = &turn.seen.reply;
                *reply == play.turns[0].seen.reply
                    && !reply.refuses()
                    && turn.changes().iter().any(is_more)
            };
            if let Some((1, play)) = self.let_in((&limit, &[1, 2, 4]), &calls, &adds)? {
                let grown = play.turns[0].changes().into_iter().next();
                let harm = "more is let in than the limit says: 2 of 1".to_owned();
                return self.shown_again(play, 1, harm, &grown.iter().collect::<Vec<_>>());
            }
        }
        Ok(false)
    }
}

fn set_limit(limit: &Limit, most: i64, setup: &mut Vec<Words>, calls: &mut [Values]) {
    let text = most.to_string().into_bytes();
    match limit {
        Limit::Passed(role) => {
            calls.iter_mut().for_each(|values| drop(values.insert(*role, text.clone())));
        }
        Limit::Kept(cell) => {
            setup.retain(|words| *words != planted(cell, PLENTY.as_bytes()));
            setup.push(planted(cell, &text));
        }
        Limit::Fixed => {}
    }
}
