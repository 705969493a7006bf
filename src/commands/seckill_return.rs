//! `SECKILL.RETURN key [units]`: gives units back to a bare stock.

use super::seckill_deduct::Given;
use super::{Answering, Command};
use crate::error::CommandError;
use crate::keyspace::stock;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use domain::deduction::return_units;
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.return",
    handler: handler::<Answering<Return>>(),
    flags: c"write fast",
    summary: c"Adds units back to a stock key, and returns the new stock",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

struct Return;

/// No key, or one that never runs out.
const NOTHING_TO_RETURN: i64 = -1;

impl Command for Return {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, _: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let (key, units) = (given.key, given.units.unwrap_or(Units::ONE));
        let Some(change) = return_units(stock::read(ctx, key.0)?, units)? else {
            return Ok(Reply::Integer(NOTHING_TO_RETURN));
        };
        if let Some(effect) = stock::change(ctx, key.0, change) {
            effect.publish(ctx);
        }
        Ok(Reply::Integer(change.after))
    }
}
