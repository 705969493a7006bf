//! `SECKILL.DEDUCT key [units]`: takes units from a bare stock, all of them or none.

use super::{Answering, Command, UNITS};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::stock;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::KeyName;
use domain::deduction::{Deduction, deduct};
use domain::plan::Change;
use domain::sale::Units;

const BARE_STOCK: ArgSpec = ArgSpec::key(c"key", Access::Update, c"The stock, a string");

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.deduct",
    handler: handler::<Answering<Deduct>>(),
    flags: c"write deny-oom fast",
    summary: c"Takes units from a stock key if there are enough, and returns the previous stock",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A bare stock, and how many units are meant: one, if it is not said.
    Given<'a> {
        key: KeyName<'a> = BARE_STOCK,
        units: Option<Units> = UNITS.optional(),
    }
}

struct Deduct;

impl Command for Deduct {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, _: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let (key, units) = (given.key, given.units.unwrap_or(Units::ONE));
        let deduction = deduct(stock::read(ctx, key.0)?, units)?;
        if let Deduction::Take { before, left: after } = deduction
            && let Some(effect) = stock::change(ctx, key.0, Change { before, after })
        {
            effect.publish(ctx);
        }
        Ok(Reply::Integer(deduction.code()))
    }
}
