//! Whether keys are all on this node of a cluster.
//!
//! A client names only the voucher, so the server can't know that keys derived from it are on the
//! other node while their slot moves, and the API opens keys of foreign slots without an error. A
//! call of the server does check: EXISTS fails when a key is not here.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::rules;
use crate::keyspace::sale_keys::{ManagedKeys, SaleKeys};
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{Call, CallError, Ctx, Str};

/// How much of a voucher is known to be on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All its keys.
    Whole,
    /// The keys that a sale of a managed voucher touches, while its slot moves. A release touches
    /// more.
    Sale,
}

/// How many of the keys exist; the error `elsewhere` if they are not all on this node.
pub(super) fn count_here(
    ctx: Ctx<'_>,
    keys: &[Str<'_>],
    elsewhere: CommandError,
) -> Result<i64, CommandError> {
    match Call::read(ctx, c"EXISTS", keys) {
        Ok(count) => Ok(count.integer()),
        Err(CallError::NotHere) => Err(elsewhere),
        Err(error) => Err(CommandError::of_call(error, "EXISTS")),
    }
}

/// Fails when the keys are not all on this node: `TRYAGAIN`.
fn call_exists(ctx: Ctx<'_>, keys: &[Str<'_>]) -> Result<(), CommandError> {
    count_here(ctx, keys, CommandError::TryAgain).map(|_| ())
}

/// Refuses, in cluster mode, a key that may be on the other node of a moving slot, and that few
/// commands need: extra units, the stream of confirmed orders, the queue, payments, the last sale,
/// units outside of a sale. Asks for the book, which in the background can expire it.
pub(super) fn check_one_here(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    key: Str<'_>,
) -> Result<(), CommandError> {
    // For one missing key the target of a move answers that it is new; for two, that not all are
    // here.
    if config::is_cluster() { call_exists(ctx, &[key, keys.book]) } else { Ok(()) }
}

impl VoucherKeys {
    /// Refuses, in cluster mode, keys that are not all on this node.
    #[inline]
    pub(crate) fn check_here(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        if config::is_cluster() { self.check_here_in_cluster(ctx) } else { Ok(()) }
    }

    /// Refuses, in cluster mode, unless every key that a managed voucher can have is on this node.
    /// The end of a sale needs it, which releases orders and deletes all keys: while its slot
    /// moves, a key that is missing here would stay on the other node.
    pub(crate) fn check_all_here(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        if !config::is_cluster() {
            return Ok(());
        }
        let all: Vec<Str<'_>> = self.managed()?.all().iter().collect();
        call_exists(ctx, &all)
    }

    fn check_here_in_cluster(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        let SaleKeys { stock, buyers, orders } = self.sale()?;
        // While the slot is stable every key is here, whether it exists or not. While it moves, a
        // key that does not exist here may be on the other node. So all keys must exist, and a
        // voucher without rules is not sold at all: it could be a managed one whose rules moved
        // first.
        let mut all = vec![stock, buyers, orders.unwrap_or(stock), self.rules()];
        if rules::exists(ctx, self.rules()) {
            // Not the extra units and the payments, which most vouchers never have, and not the
            // stream of confirmed orders, which sales and releases don't touch. See
            // `check_one_here`.
            let ManagedKeys { book, units, holds, released, .. } = self.managed()?;
            all.extend([book, units, holds, released.unwrap_or(book)]);
        }
        call_exists(ctx, &all)
    }

    /// As [`check_here`](Self::check_here), but content with what a sale touches, and remembered
    /// for this database once all its keys have been seen: see [`super::vouchers`] for what ends
    /// that.
    #[inline]
    pub(crate) fn reach(&self, ctx: Ctx<'_>) -> Result<Reach, CommandError> {
        if !config::is_cluster() || self.is_known_whole(ctx) {
            return Ok(Reach::Whole);
        }
        self.reach_in_cluster(ctx)
    }

    /// Apart from what most tries run.
    #[inline(never)]
    fn reach_in_cluster(&self, ctx: Ctx<'_>) -> Result<Reach, CommandError> {
        match self.check_here_in_cluster(ctx) {
            Err(CommandError::TryAgain) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                // With a key of the voucher's own name the server sends no `ASK` while the slot
                // leaves, so that only EXISTS notices.
                let name = self.voucher_as_key();
                self.set_known_whole(ctx, !rules::exists(ctx, name.as_str()));
                return Ok(Reach::Whole);
            }
        }
        // The slot is moving. A voucher that has released nothing and holds nothing lacks some keys
        // for good, which a sale does not need.
        let Ok(Some(rules)) = self.read_rules(ctx) else {
            return Err(CommandError::TryAgain);
        };
        let ManagedKeys { sale, book, units, holds, .. } = self.managed()?;
        let SaleKeys { stock, buyers, orders } = sale;
        let mut touched = vec![stock, buyers, orders.unwrap_or(stock), self.rules(), book, units];
        if rules.hold.is_some() {
            touched.push(holds);
        }
        call_exists(ctx, &touched).map(|()| Reach::Sale)
    }
}
