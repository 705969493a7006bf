//! The rules of a sale, as clients give them.

use crate::args::Args;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{Ctx, MainThread};
use domain::rules::{MILLIS_MAX, Meant, Millis, Rules, SaleId, is_in_seconds};

/// `[BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`, in any order, each at most once. A value of 0 means
/// none.
#[derive(Default)]
pub(super) struct RulesGiven {
    begin: Option<Millis>,
    end: Option<Millis>,
    limit: Option<i64>,
    hold: Option<Millis>,
    sale: Option<SaleId>,
}

impl RulesGiven {
    /// For a new sale.
    pub(super) fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        Self::parse_words(args, &["BEGIN", "END", "LIMIT", "HOLD"])
    }

    /// For the sale that there is, which may be named: `[SALE id]`.
    pub(super) fn parse_change(args: Args<'_>) -> Result<Self, CommandError> {
        Self::parse_words(args, &["BEGIN", "END", "LIMIT", "HOLD", "SALE"])
    }

    fn parse_words(mut args: Args<'_>, words: &[&'static str]) -> Result<Self, CommandError> {
        let mut given = Self::default();
        while !args.is_empty() {
            let is_new = match args.next_word(words)? {
                "BEGIN" => given.begin.replace(next_moment(&mut args, "begin")?).is_none(),
                "END" => given.end.replace(next_moment(&mut args, "end")?).is_none(),
                "LIMIT" => given.limit.replace(args.next_integer("limit", 1..=i64::MAX)?).is_none(),
                "HOLD" => given.hold.replace(args.next_ms("hold", 0..=MILLIS_MAX)?).is_none(),
                _ => given.sale.replace(args.next_sale()?).is_none(),
            };
            if !is_new {
                return Err(CommandError::Syntax);
            }
        }
        Ok(given)
    }

    pub(super) fn sale(&self) -> Meant {
        Meant::by_request(self.sale)
    }

    /// The rules with these changes.
    pub(super) fn apply(&self, rules: Rules) -> Result<Rules, CommandError> {
        let bound = |given: Option<Millis>, now| match given {
            None => now,
            Some(value) => (value != 0).then_some(value),
        };
        let rules = Rules {
            begin: bound(self.begin, rules.begin),
            end: bound(self.end, rules.end),
            hold: bound(self.hold, rules.hold),
            limit: self.limit.unwrap_or(rules.limit),
            ..rules
        };
        // A window that stays may be one that only the module writes.
        let has_window = self.begin.is_some() || self.end.is_some();
        Ok(if has_window { rules.checked()? } else { rules.kept()? })
    }
}

/// Says in the log that orders with a hold are paid and released, and no stream says so. Once until
/// a setting of names changes.
pub(super) fn warn_without_stream(ctx: Ctx<'_>, keys: &VoucherKeys) {
    static SAID: MainThread<Option<u64>> = MainThread::new(None);
    let now = Some(config::naming_generation());
    if keys.sale().is_ok_and(|keys| keys.orders.is_none()) && SAID.get() != now {
        SAID.set(now);
        ctx.warn(
            "orders are held while seckill.order-stream is empty: no consumer hears that they are \
             paid or released",
        );
    }
}

fn next_moment(args: &mut Args<'_>, argument: &'static str) -> Result<Millis, CommandError> {
    let moment = args.next_integer(argument, 0..=MILLIS_MAX)?;
    if is_in_seconds(moment) { Err(CommandError::Seconds { argument }) } else { Ok(moment) }
}
