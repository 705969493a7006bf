//! `SECKILL.DEDUCT key [units]`: takes units from a bare stock, all of them or none.

use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::stock;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::KeyName;
use domain::deduction::{Deduction, deduct};
use domain::plan::Change;
use domain::sale::Units;

/// What both commands on a bare stock declare.
pub(super) const BARE_STOCK: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Update, notes: c"The stock, a string" }];
pub(super) const STOCK_AND_UNITS: &[ArgSpec] = &[
    ArgSpec { name: c"key", kind: ArgKind::Key(0) },
    ArgSpec { name: c"units", kind: ArgKind::OptionalBareInteger },
];

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.deduct",
    handler: handler::<Answering<Deduct>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -2,
    summary: c"Takes units from a stock key if there are enough, and returns the previous stock",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: BARE_STOCK,
    args: STOCK_AND_UNITS,
};

struct Deduct;

impl Command for Deduct {
    fn run(ctx: Ctx<'_>, _: &Memory, args: Args<'_>) -> Result<Reply, CommandError> {
        let (key, units) = parse(args)?;
        let deduction = deduct(stock::read(ctx, key.0)?, units)?;
        if let Deduction::Take { before, left: after } = deduction
            && let Some(effect) = stock::change(ctx, key.0, Change { before, after })
        {
            effect.publish(ctx);
        }
        Ok(Reply::Integer(deduction.code()))
    }
}

/// Reads `key [units]`.
pub(super) fn parse(mut args: Args<'_>) -> Result<(KeyName<'_>, Units), CommandError> {
    let key = args.next()?;
    let units = if args.is_empty() { Units::ONE } else { args.next_units()? };
    args.finish()?;
    Ok((key, units))
}
