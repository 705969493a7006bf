//! Which units to move. Pure.

/// Units to move from one shard to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub from: u32,
    pub to: u32,
    pub units: i64,
}

/// The moves that level the shards, given what is left on each now and what was at the last look.
///
/// A shard is hungry when it has at most half of a fair share, which is what each had if all were
/// level. It is brought up to a fair share by those that have more, the richest first, who keep a
/// fair share. When less than a unit per shard is left, single units go from shards that have sold
/// nothing and got nothing since the last look to those that have nothing; which comes first
/// changes with `round`, so that a unit that nobody wants travels on. A stock below zero is closed
/// or has no end: it takes no part.
pub fn moves(left: &[i64], before: &[i64], round: u64) -> Vec<Step> {
    let all: i64 = left.iter().map(|units| (*units).max(0)).sum();
    let share = all / i64::try_from(left.len().max(1)).unwrap_or(i64::MAX);
    if all == 0 {
        Vec::new()
    } else if share == 0 {
        scatter(left, before, round)
    } else {
        fill(left, share)
    }
}

fn fill(left: &[i64], share: i64) -> Vec<Step> {
    let mut hungry: Vec<(i64, usize)> = left
        .iter()
        .enumerate()
        .filter(|(_, units)| (0..=share / 2).contains(*units))
        .map(|(shard, units)| (*units, shard))
        .collect();
    hungry.sort_unstable();
    let mut rich: Vec<(i64, usize)> = left
        .iter()
        .enumerate()
        .filter(|(_, units)| **units > share)
        .map(|(shard, units)| (*units - share, shard))
        .collect();
    rich.sort_unstable();
    let mut steps = Vec::new();
    for (has, to) in hungry {
        let mut wanted = share - has;
        while wanted > 0 {
            let Some((spare, from)) = rich.pop() else { return steps };
            let units = spare.min(wanted);
            steps.push(step(from, to, units));
            wanted -= units;
            if spare > units {
                rich.push((spare - units, from));
            }
        }
    }
    steps
}

fn scatter(left: &[i64], before: &[i64], round: u64) -> Vec<Step> {
    let count = left.len();
    let was = |shard: usize| before.get(shard).copied().unwrap_or(0);
    let mut hungry: Vec<usize> = (0..count).filter(|shard| left[*shard] == 0).collect();
    let turn = usize::try_from(round).unwrap_or(0) % hungry.len().max(1);
    hungry.rotate_left(turn);
    // A shard that has just sold its last unit probably has more users in the queue.
    hungry.sort_by_key(|shard| was(*shard) <= 0);
    let mut hungry = hungry.into_iter();
    let mut steps = Vec::new();
    // What has just come gets its chance, and where something was sold there may be more users.
    let idle = left.iter().enumerate().filter(|(shard, units)| **units == was(*shard));
    for (from, units) in idle {
        for _ in 0..(*units).max(0) {
            let Some(to) = hungry.next() else { return steps };
            steps.push(step(from, to, 1));
        }
    }
    steps
}

fn step(from: usize, to: usize, units: i64) -> Step {
    let number = |shard| u32::try_from(shard).unwrap_or(u32::MAX);
    Step { from: number(from), to: number(to), units }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(left: &[i64], before: &[i64], round: u64) -> Vec<i64> {
        let mut after = left.to_vec();
        for step in moves(left, before, round) {
            assert!(step.from != step.to && step.units > 0);
            after[step.from as usize] -= step.units;
            after[step.to as usize] += step.units;
        }
        assert_eq!(after.iter().sum::<i64>(), left.iter().sum::<i64>());
        assert!(after.iter().zip(left).all(|(after, left)| *after >= 0 || after == left));
        after
    }

    #[test]
    fn level_shards_are_left_alone() {
        for left in [&[5, 5, 5][..], &[9, 5, 6, 8], &[0, 0], &[], &[1]] {
            assert_eq!(moves(left, left, 3), [], "{left:?}");
        }
    }

    #[test]
    fn the_empty_are_filled_by_the_rich() {
        assert_eq!(after(&[0, 30, 0, 10], &[9, 30, 9, 10], 0), [10, 10, 10, 10]);
        assert_eq!(after(&[0, 100, 50, 50], &[0, 100, 50, 50], 0), [50, 50, 50, 50]);
        // Half a share is enough to go on with.
        assert_eq!(after(&[6, 14], &[6, 14], 0), [6, 14]);
        assert_eq!(after(&[5, 15], &[5, 15], 0), [10, 10]);
    }

    #[test]
    fn last_units_travel_from_where_nobody_wants_them() {
        // Shard 2 sold its last unit just now, so it comes first.
        assert_eq!(after(&[1, 0, 0, 0], &[1, 0, 3, 0], 0), [0, 0, 1, 0]);
        // A shard that has sold keeps the rest, and so does one that has just received units.
        assert_eq!(after(&[1, 0, 0, 0], &[2, 0, 0, 0], 0), [1, 0, 0, 0]);
        assert_eq!(after(&[1, 0, 0, 0], &[0, 1, 0, 0], 0), [1, 0, 0, 0]);
        let mut seen = std::collections::HashSet::new();
        let mut left = vec![1, 0, 0, 0, 0];
        for round in 0..20 {
            left = after(&left.clone(), &left, round);
            seen.insert(left.iter().position(|units| *units == 1));
        }
        assert_eq!(seen.len(), 5, "the unit has been everywhere");
    }

    #[test]
    fn a_stock_below_zero_takes_no_part() {
        assert_eq!(moves(&[-1, 10, 10], &[-1, 10, 10], 0), []);
        assert_eq!(moves(&[-1, 1], &[-1, 1], 0), []);
        assert_eq!(moves(&[-1, -1], &[-1, -1], 0), []);
    }

    #[test]
    fn random_shards_become_level_and_lose_nothing() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let count = random.usize(1..40);
            let left: Vec<i64> = (0..count).map(|_| random.i64(0..50)).collect();
            let all: i64 = left.iter().sum();
            let after = after(&left, &left, random.u64(..));
            let share = all / count as i64;
            if share > 0 {
                assert!(after.iter().all(|units| *units > share / 2), "{left:?} {after:?}");
            }
        }
    }
}
