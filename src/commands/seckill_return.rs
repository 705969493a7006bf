//! `SECKILL.RETURN key [units]`: gives units back to a bare stock.

use super::seckill_deduct::{BARE_STOCK, STOCK_AND_UNITS, parse};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::stock;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use domain::deduction::return_units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.return",
    handler: handler::<Answering<Return>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -2,
    summary: c"Adds units back to a stock key, and returns the new stock",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: BARE_STOCK,
    args: STOCK_AND_UNITS,
};

struct Return;

/// No key, or one that never runs out.
const NOTHING_TO_RETURN: i64 = -1;

impl Command for Return {
    fn run(ctx: Ctx<'_>, _: &Memory, args: Args<'_>) -> Result<Reply, CommandError> {
        let (key, units) = parse(args)?;
        let Some(change) = return_units(stock::read(ctx, key.0)?, units)? else {
            return Ok(Reply::Integer(NOTHING_TO_RETURN));
        };
        if let Some(effect) = stock::change(ctx, key.0, change) {
            effect.publish(ctx);
        }
        Ok(Reply::Integer(change.after))
    }
}
