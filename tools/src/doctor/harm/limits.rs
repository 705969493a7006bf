//! Harms to a limit: a number that the caller passes, or that is in a key, and that calls are
//! shown to stop at, or one after.

use anyhow::Result;

use super::sales::Scene;
use super::{Play, Session};
use crate::call::{Role, Values};
use crate::examine::Examination;
use crate::keyspace::{Cell, planted};
use crate::learn::{PLENTY, Run};

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

    /// A user who gets more of a stock than a limit says.
    pub(super) fn of_user_limit(&mut self, scene: &Scene<'_>) -> Result<Option<Session>> {
        let units = scene.units.filter(|_| scene.sale.units.is_ok());
        let ids = scene.ids.iter().copied().chain(units).collect::<Vec<_>>();
        let mut limits = self.limits(&scene.sale.run, &ids);
        limits.retain(|limit| *limit != Limit::Kept(scene.stock.clone()));
        limits.push(Limit::Fixed);
        for limit in limits {
            let play_of = |judge: &mut Self, most: i64, calls: usize, units: i64| {
                let users = vec![1; calls];
                let (mut setup, mut values) = scene.calls(1000, &users, Some(units), false);
                set_limit(&limit, most, &mut setup, &mut values);
                judge.play(&setup, values)
            };
            let accepted = |play: &Play| {
                let first = play.turns.first().map(|turn| &turn.seen.reply);
                let sells = |turn: &&Run| scene.taken(turn) > 0 && !turn.seen.reply.refuses();
                let same = play.turns.iter().take_while(sells).count();
                let rest = play.turns.iter().skip(same).all(|turn| scene.taken(turn) == 0);
                (rest && first.is_some()).then_some(same)
            };
            let mut found: Vec<(i64, usize, Play)> = Vec::new();
            let tried: &[i64] = if limit == Limit::Fixed { &[8] } else { &[2, 3, 4] };
            for most in tried {
                let play = play_of(self, *most, usize::try_from(*most + 3)?, 1)?;
                match accepted(&play) {
                    Some(count) if count > 1 && count < play.turns.len() => {
                        found.push((*most, count, play));
                    }
                    _ => break,
                }
            }
            if found.len() < tried.len() {
                continue;
            }
            let is_over = |by: i64| found.iter().all(|(most, n, _)| *n as i64 == most + by);
            if limit != Limit::Fixed && is_over(1) {
                let (most, _, play) = found.remove(0);
                let harm = format!("more is sold than the limit says: {} of {most}", most + 1);
                return self.shown_again(play, usize::try_from(most)?, harm, &[&scene.stock]);
            }
            let Some(role) = units.filter(|_| limit == Limit::Fixed || is_over(0)) else {
                continue;
            };
            for (most, units) in BEYOND {
                let most = if limit == Limit::Fixed { found[0].1 as i64 } else { most };
                // One user shows where the limit is, another goes beyond it.
                let ones = usize::try_from(most + 1)?;
                let users = [vec![1; ones], vec![2; 6]].concat();
                let (mut setup, mut values) = scene.calls(1000, &users, Some(1), false);
                for values in values.iter_mut().skip(ones) {
                    values.insert(role, units.to_string().into_bytes());
                }
                set_limit(&limit, most, &mut setup, &mut values);
                let play = self.play(&setup, values)?;
                if play.turns.iter().take(ones).filter(|turn| scene.taken(turn) == 1).count()
                    != ones - 1
                {
                    continue;
                }
                let beyond = |turn: &Run| {
                    let all = turn.changes().into_iter();
                    let mut all = all.filter(|cell| *cell != scene.stock && turn.grew(cell) > 0);
                    all.find(|cell| {
                        turn.seen.after.number(cell).is_some_and(|number| number > most)
                    })
                    .filter(|_| scene.taken(turn) == units && !turn.seen.reply.refuses())
                };
                let at = play.turns.iter().skip(ones).position(|turn| beyond(turn).is_some());
                let at = at.map(|at| at + ones);
                if let Some((at, cell)) = at.and_then(|at| Some((at, beyond(&play.turns[at])?))) {
                    let number = play.turns[at].seen.after.number(&cell).unwrap_or(0);
                    let harm = format!(
                        "more is sold than the limit says: {cell} is {number}, and calls of one \
                         unit stop at {most}"
                    );
                    return self.shown_again(play, at, harm, &[&cell]);
                }
            }
        }
        Ok(None)
    }

    /// One more is let in than a quota says: calls of different users, each of which adds.
    pub fn harm_of_quota(&mut self, run: &Run) -> Result<Option<Session>> {
        for limit in self.limits(run, &[]) {
            let written = match &limit {
                Limit::Kept(cell) => run.seen.after.cells.get(cell) != run.before.cells.get(cell),
                _ => false,
            };
            if written {
                continue;
            }
            let ids = self.ids(run, &[]);
            let is_id = |role: &Role| ids.contains(role) && limit != Limit::Passed(*role);
            let mut shown = None;
            let mut holds = true;
            for most in [1, 2, 4] {
                let user = |user: i64| -> Values {
                    let mut values = run.values.clone();
                    for (role, value) in values.iter_mut().filter(|(role, _)| is_id(role)) {
                        let number = String::from_utf8_lossy(value).parse::<i64>();
                        let _ = role;
                        *value = number.map_or(value.clone(), |n| (n + user).to_string().into());
                    }
                    values
                };
                let mut values: Vec<Values> = (0..most + 3).map(user).collect();
                let mut setup = run.setup();
                set_limit(&limit, most, &mut setup, &mut values);
                let play = self.play(&setup, values)?;
                let first =
                    play.turns.first().map(|turn| turn.seen.reply.clone()).unwrap_or_default();
                let lets = |turn: &&Run| {
                    let adds = turn
                        .changes()
                        .iter()
                        .any(|cell| !turn.before.cells.contains_key(cell) || turn.grew(cell) > 0);
                    adds && turn.seen.reply == first && !turn.seen.reply.refuses()
                };
                let count = play.turns.iter().take_while(lets).count() as i64;
                let rest = play.turns.iter().skip(usize::try_from(count)?);
                holds &= count == most + 1 && !rest.into_iter().any(|turn| lets(&turn));
                shown.get_or_insert(play);
                if !holds {
                    break;
                }
            }
            if let Some(play) = shown.filter(|_| holds) {
                let grown = play.turns.first().and_then(|turn| turn.changes().into_iter().next());
                let harm = "more is let in than the limit says: 2 of 1".to_owned();
                return self.shown_again(play, 1, harm, &grown.iter().collect::<Vec<_>>());
            }
        }
        Ok(None)
    }
}

fn set_limit(limit: &Limit, most: i64, setup: &mut Vec<crate::wire::Words>, calls: &mut [Values]) {
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
