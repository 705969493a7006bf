//! The rules of a sale, as clients give them.

use crate::args::Moment;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{ArgSpec, Ctx, MainThread, Max};
use domain::rules::{MILLIS_MAX, Millis, Rules};

pub(super) const BEGIN: ArgSpec = moment(c"begin").after(c"BEGIN");
pub(super) const END: ArgSpec = moment(c"end").after(c"END");
pub(super) const LIMIT: ArgSpec = ArgSpec::integer(c"limit", 1, i64::MAX).after(c"LIMIT");
pub(super) const HOLD: ArgSpec = moment(c"hold").after(c"HOLD");

const fn moment(name: &'static std::ffi::CStr) -> ArgSpec {
    ArgSpec::ms(name, 0, Max::Is(MILLIS_MAX))
}

/// What a client says of rules. A value of 0 means none.
pub(super) struct RulesGiven {
    begin: Option<Millis>,
    end: Option<Millis>,
    limit: Option<i64>,
    hold: Option<Millis>,
}

impl RulesGiven {
    pub(super) fn new(
        begin: Option<Moment>,
        end: Option<Moment>,
        limit: Option<i64>,
        hold: Option<Millis>,
    ) -> Self {
        let [begin, end] = [begin, end].map(|moment| moment.map(|moment| moment.0));
        Self { begin, end, limit, hold }
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
