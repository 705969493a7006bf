//! The candidates for what a script was seen to do.

use super::{Ask, Candidate, Command, Outcome, tries};
use crate::call::Slot;
use crate::learn::{Lock, LockDeed, Return, Sale};
use crate::template::Template;

/// Every order in which a script may ask what the module asks, each with its answer to a missing
/// stock, and whether a stock of -1 is unlimited.
const WAYS: [(&[Ask], &str, bool); 11] = [
    (&[], "error", false),
    (&[], "sold-out", false),
    (&[Ask::Bought], "error", false),
    (&[Ask::Bought], "sold-out", false),
    (&[Ask::Missing], "error", false),
    (&[Ask::Bought, Ask::Missing], "error", false),
    (&[Ask::Missing, Ask::Bought], "error", false),
    (&[], "error", true),
    (&[], "sold-out", true),
    (&[Ask::Empty], "error", false),
    (&[Ask::Bought, Ask::Empty], "sold-out", false),
];

/// The word for the units, if there is not always one.
fn units(units: Result<Slot, i64>) -> Option<Template> {
    match units {
        Ok(units) => Some(Template::place(units)),
        Err(1) => None,
        Err(count) => Some(Template::constant_of(&count.to_string())),
    }
}

pub fn of_sale(sale: &Sale) -> Vec<Candidate> {
    let units = units(sale.units);
    let Some((buyers, user)) = &sale.buyers else {
        let words = std::iter::once(sale.stock.clone()).chain(units).collect();
        let command = Command { name: "SECKILL.DEDUCT", words, settings: Vec::new() };
        let mut one = Candidate::new(command, Outcome::StockBefore, vec![sale.stock.clone()]);
        one.stock = Some(sale.stock.clone());
        one.extras.clone_from(&sale.extras);
        one.keys.extend(sale.extra_keys.iter().cloned());
        let mut other = one.clone();
        other.asks.push(Ask::Empty);
        return if sale.units.is_ok() { vec![one, other] } else { vec![one] };
    };
    let mut all = Vec::new();
    for (asks, missing, unlimited) in WAYS {
        if asks.contains(&Ask::Empty) && sale.units.is_err() {
            continue;
        }
        let by_names =
            tries::by_names(sale, buyers, *user, &units, missing).filter(|_| asks.is_empty());
        let by_keys = tries::by_keys(sale, buyers, *user, &units, missing);
        for mut command in by_names.into_iter().chain([by_keys]) {
            if unlimited {
                command.settings.push(("seckill.unlimited-stock", "yes".to_owned()));
            }
            let stream = sale.orders.as_ref().map(|orders| orders.stream.clone());
            let mut keys = vec![sale.stock.clone(), buyers.clone()];
            keys.extend(stream);
            keys.extend(sale.extra_keys.iter().cloned());
            let mut one = Candidate::new(command, Outcome::Itself, keys);
            one.asks = asks.to_vec();
            one.stock = Some(sale.stock.clone());
            one.buyers = Some((buyers.clone(), *user));
            one.extras.clone_from(&sale.extras);
            all.push(one);
        }
    }
    all
}

/// A lock as the commands treat it, then with another answer for a lock that is not there.
pub fn of_lock(lock: &Lock) -> Vec<Candidate> {
    let mut words = vec![lock.lock.clone(), lock.token.clone()];
    let mut seconds = None;
    let name = match (lock.deed, &lock.lease) {
        (LockDeed::Release, _) => "LOCK.RELEASE",
        (deed, Some((lease, in_seconds))) => {
            seconds = in_seconds.then_some(2);
            words.push(lease.clone());
            if deed == LockDeed::Renew { "LOCK.RENEW" } else { "LOCK.ACQUIRE" }
        }
        (_, None) => return Vec::new(),
    };
    let command = Command { name, words, settings: Vec::new() };
    let mut one = Candidate::new(command, Outcome::Itself, vec![lock.lock.clone()]);
    one.seconds = seconds;
    one.stock = Some(lock.lock.clone());
    one.extras.clone_from(&lock.extras);
    one.keys.extend(lock.extra_keys.iter().cloned());
    let mut other = one.clone();
    other.asks = vec![Ask::Missing];
    vec![one, other]
}

pub fn of_return(stock: &Return) -> Candidate {
    let units = units(stock.units);
    let words = std::iter::once(stock.stock.clone()).chain(units).collect();
    let command = Command { name: "SECKILL.RETURN", words, settings: Vec::new() };
    let mut one = Candidate::new(command, Outcome::StockAfter, vec![stock.stock.clone()]);
    one.stock = Some(stock.stock.clone());
    one
}
