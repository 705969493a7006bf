//! Sales over shards, simulated: what stays unsold, and who gets something. Without a server, and
//! the same for the same seed.

use std::fmt::Write;

use crate::levels;
use crate::options::Simulate;
use crate::sharding::{shard_of, split};

/// How a simulated sale ended.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub unsold: i64,
    /// Users refused while units were left on another shard, or on their way.
    pub refused_early: u64,
    /// Accepted users who came later than the one who would have got the last unit of one stock.
    pub out_of_turn: u64,
    /// The share of its users that the luckiest and the unluckiest shard sold to, each divided by
    /// that of the whole sale.
    pub luck: (f64, f64),
    /// The first shard was sold out for good after this share of all tries.
    pub first_out: f64,
    pub moves: u64,
}

/// The users in the order in which they come: each one's shard for this number of shards.
struct Crowd {
    hashes: Vec<u16>,
}

impl Crowd {
    fn new(users: u32, seed: u64) -> Crowd {
        let mut order: Vec<u32> = (0..users).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        let hash = |user: u32| {
            // 65,536 shards would be one a hash.
            u16::try_from(shard_of(format!("u{user}").as_bytes(), 1 << 16)).unwrap_or(0)
        };
        Crowd { hashes: order.into_iter().map(hash).collect() }
    }

    fn sale(&self, shards: u32, stock: i64, look_every: Option<u32>) -> Outcome {
        let mut left = split(stock, shards);
        let mut seen = left.clone();
        let mut users = vec![0_u64; left.len()];
        let mut sold = vec![0_u64; left.len()];
        let mut out_at = vec![0_usize; left.len()];
        let mut outcome = Outcome {
            unsold: stock,
            refused_early: 0,
            out_of_turn: 0,
            luck: (0.0, 0.0),
            first_out: 1.0,
            moves: 0,
        };
        // What was taken at a look comes to the other shard at the next one.
        let mut coming: Vec<levels::Step> = Vec::new();
        for (turn, hash) in self.hashes.iter().enumerate() {
            if let Some(every) = look_every.filter(|every| turn % *every as usize == 0) {
                for step in coming.drain(..) {
                    left[step.to as usize] += step.units;
                }
                let round = u64::try_from(turn).unwrap_or(0) / u64::from(every);
                coming = levels::moves(&left, &seen, round);
                for step in &coming {
                    left[step.from as usize] -= step.units;
                }
                outcome.moves += coming.len() as u64;
                seen.clone_from(&left);
            }
            let shard = (u32::from(*hash) % shards) as usize;
            users[shard] += 1;
            if left[shard] > 0 {
                left[shard] -= 1;
                sold[shard] += 1;
                out_at[shard] = turn;
                outcome.unsold -= 1;
                outcome.out_of_turn += u64::from(turn as i64 >= stock);
            } else if outcome.unsold > 0 {
                outcome.refused_early += 1;
            }
        }
        let average = sold.iter().sum::<u64>() as f64 / self.hashes.len() as f64;
        let luck = sold.iter().zip(&users).filter(|(_, users)| **users > 0);
        let luck = luck.map(|(sold, users)| *sold as f64 / *users as f64 / average);
        outcome.luck = luck.fold((0.0, f64::MAX), |(most, least), luck| {
            (f64::max(most, luck), f64::min(least, luck))
        });
        let is_out = |shard: &usize| left[*shard] == 0;
        let first = (0..left.len()).filter(is_out).map(|shard| out_at[shard]).min();
        outcome.first_out = first.map_or(1.0, |turn| turn as f64 / self.hashes.len() as f64);
        outcome
    }
}

/// A table in Markdown, two lines a sale: without the mover and with it.
pub fn report(options: &Simulate) -> String {
    let crowd = Crowd::new(options.users, options.seed);
    let mut text = String::from(
        "| units | shards | mover | unsold | refused early | out of turn | luck, least to most | \
         first shard out after | moves |\n\
         | ---: | ---: | --- | ---: | ---: | ---: | --- | ---: | ---: |\n",
    );
    for stock in &options.stock {
        for shards in &options.shards {
            for look_every in [None, Some(options.look_every)] {
                if *shards == 1 && look_every.is_some() {
                    continue;
                }
                let of = crowd.sale((*shards).max(1), *stock, look_every);
                // Writing to a String can't fail.
                let _ = writeln!(
                    text,
                    "| {stock} | {shards} | {} | {} | {:.2} % | {:.2} % | {:.2} to {:.2} \
                     | {:.2} % | {} |",
                    if look_every.is_some() { "yes" } else { "no" },
                    of.unsold,
                    percent(of.refused_early, i64::from(options.users)),
                    percent(of.out_of_turn, *stock),
                    of.luck.1,
                    of.luck.0,
                    of.first_out * 100.0,
                    of.moves,
                );
            }
        }
    }
    text
}

fn percent(part: u64, whole: i64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shard_is_one_stock() {
        let outcome = Crowd::new(1_000, 1).sale(1, 100, None);
        assert_eq!((outcome.unsold, outcome.refused_early, outcome.out_of_turn), (0, 0, 0));
        assert_eq!(outcome.luck, (1.0, 1.0));
    }

    #[test]
    fn a_seed_repeats_the_sale() {
        let sale = |seed| Crowd::new(20_000, seed).sale(64, 19_000, Some(200));
        assert_eq!(sale(3), sale(3));
        assert_ne!(sale(3), sale(4));
    }

    #[test]
    fn the_mover_sells_what_would_stay() {
        let crowd = Crowd::new(50_000, 1);
        let (without, with) = (crowd.sale(100, 49_000, None), crowd.sale(100, 49_000, Some(100)));
        assert!(without.unsold > 200, "{without:?}");
        assert!(with.unsold < without.unsold / 10, "{with:?}");
        assert!(with.luck.1 > without.luck.1, "{with:?} {without:?}");
    }
}
