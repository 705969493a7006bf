//! `SECKILL.ALTER voucher [BEGIN ms] [END ms] [LIMIT n] [HOLD ms] [SALE id]`: changes a sale's
//! rules.

use super::decided::apply_to_all;
use super::queue::end_waits;
use super::rules::{BEGIN, END, HOLD, LIMIT, RulesGiven, warn_without_stream};
use super::{Answering, Command, SALE, VOUCHER};
use crate::args::{Moment, arguments};
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use crate::typed::Voucher;
use domain::rules::{Meant, Millis, SaleId};
use domain::sales::alter;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.alter",
    handler: handler::<Answering<Alter>>(),
    flags: c"write deny-oom fast",
    summary: c"Changes the time window, limit or hold of a managed voucher",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS.with_options(2),
};

arguments! {
    /// A change of rules; a value of 0 means none.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        [begin: Moment = BEGIN]
        [end: Moment = END]
        [limit: i64 = LIMIT]
        [hold: Millis = HOLD]
        [sale: SaleId = SALE]
    }
}

struct Alter;

impl Command for Alter {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { voucher, begin, end, limit, hold, sale: meant } = given;
        let rules = RulesGiven::new(begin, end, limit, hold);
        let opening = Opening::new(ctx, &memory.vouchers, voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        let decide = || alter(&sale, Meant::by_request(meant), |now| rules.apply(now));
        let plan = match decide() {
            Err(CommandError::EndingWaits) => {
                end_waits(memory, &sale)?;
                decide()?
            }
            decided => decided?,
        };
        apply_to_all(memory, &sale, &plan)?;
        if plan.rules.is_some_and(|rules| rules.hold.is_some()) {
            warn_without_stream(ctx, &opening.keys);
        }
        Ok(Reply::Ok)
    }
}
