//! Managed sales whose keys came one by one, copied or renamed by other clients: until one is seen
//! to be whole, commands refuse it, since what they wrote would be where a key is yet to come.
//!
//! Not in a cluster: there the server knows which keys of a moving slot are elsewhere.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::keyspace::vouchers::DEPARTURES;
use crate::server::MainThread;
use domain::db_key::{DbKey, swapped_db};
use domain::key_names::{is_rules_name, rules_name_beside};
use domain::whole::Reading;
use std::collections::HashMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// The events of a key that was made elsewhere, or under another name. No command of the module
/// fires them.
const ARRIVALS: [&CStr; 4] = [c"restore", c"rename_to", c"copy_to", c"move_to"];

/// For so long a whole book that was read speaks for a sale that lacks a key: its orders may have
/// ended since, or be others. Not heard of by events, as this is about writes of other clients to
/// hashes; and not each time, as reading costs more than a refusal.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Sales by their rules keys, whether these have come or not.
#[derive(Default)]
pub(crate) struct Arrivals {
    has_any: MainThread<bool>,
    sales: MainThread<HashMap<DbKey, Arrival>>,
}

/// A sale that is not known to be whole.
#[derive(Clone, Default)]
struct Arrival {
    reading: Reading,
    /// When all of its book was read, and a key was missing.
    refused: Option<Instant>,
}

impl Arrivals {
    pub(super) fn on_key(&self, event: &CStr, db: i32, key: &[u8]) {
        let arrives = ARRIVALS.contains(&event);
        if !arrives && !self.has_any.get() || config::is_cluster() {
            return;
        }
        let Some(rules) = rules_name_beside(key) else { return };
        let sale = DbKey::new(db, &rules);
        if arrives {
            // What was read of it may have been replaced.
            self.change(|sales| drop(sales.insert(sale, Arrival::default())));
        } else if is_rules_name(key) && DEPARTURES.contains(&event) {
            self.change(|sales| drop(sales.remove(&sale)));
        }
    }

    pub(super) fn flushed(&self, db: Option<i32>) {
        self.change(|sales| sales.retain(|sale, _| db.is_some_and(|db| sale.db != db)));
    }

    pub(super) fn swapped(&self, first: i32, second: i32) {
        let swap = |(sale, arrival): (DbKey, _)| {
            (DbKey { db: swapped_db(sale.db, first, second), ..sale }, arrival)
        };
        self.change(|sales| *sales = std::mem::take(sales).into_iter().map(swap).collect());
    }

    /// The sale of a voucher that is known to be whole.
    pub(crate) fn sale<'a>(&self, opening: &'a Opening<'a>) -> Result<Sale<'a>, CommandError> {
        let sale = Sale::of(opening);
        self.check(&sale)?;
        Ok(sale)
    }

    /// Refuses a sale that is not known to be whole: `INCOMPLETE`. Reads on in its book first.
    #[inline]
    pub(crate) fn check(&self, sale: &Sale<'_>) -> Result<(), CommandError> {
        if self.has_any.get() { self.check_arrived(sale) } else { Ok(()) }
    }

    #[cold]
    fn check_arrived(&self, sale: &Sale<'_>) -> Result<(), CommandError> {
        let (db, rules) = sale.rules_name()?;
        let name = DbKey::new(db, rules.bytes());
        let arrival = self.sales.with(|sales| sales.get(&name).cloned());
        let Some(mut arrival) = arrival else { return Ok(()) };
        if arrival.refused.is_some_and(|at| at.elapsed() >= READ_AGAIN) {
            arrival = Arrival::default();
        }
        let checked = sale.check_whole(&mut arrival.reading);
        self.change(|sales| match checked {
            Ok(()) => drop(sales.remove(&name)),
            Err(_) => {
                if arrival.reading.position().is_none() {
                    arrival.refused.get_or_insert_with(Instant::now);
                }
                sales.insert(name, arrival);
            }
        });
        checked
    }

    fn change(&self, work: impl FnOnce(&mut HashMap<DbKey, Arrival>)) {
        let has_any = self.sales.with(|sales| {
            work(sales);
            !sales.is_empty()
        });
        self.has_any.set(has_any);
    }
}
