//! `SECKILL.TRY voucher user orderid [UNITS n]`: sells to a user, at most once a user.

use super::unmanaged::{self, Order};
use super::{Answering, Command};
use crate::args::Args;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::names::{self, VoucherKeys};
use crate::reply::Reply;
use crate::rules::sale::Outcome;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, handler};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.try",
    handler: handler::<Answering<Try>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Sells units of a voucher to a user, at most once a user, and appends the order",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The voucher. Its stock, buyers and orders keys are derived from it",
    }],
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"units", kind: ArgKind::OptionalInteger(c"UNITS") },
    ],
};

struct Try;

impl Command for Try {
    fn run(ctx: Ctx<'_>, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let mut order = Order::parse(&mut args)?;
        if !args.is_empty() {
            args.next_word(&["UNITS"])?;
            order.units = args.next_units()?;
        }
        args.finish()?;
        let keys = VoucherKeys::of(order.voucher)?;
        if config::is_cluster() {
            names::check_here(ctx, keys.sale()?)?;
        }
        match unmanaged::ask(ctx, keys.stock(), &order)? {
            None => Ok(Outcome::SoldOut.into()),
            Some(grant) => {
                unmanaged::sell(ctx, grant, keys.sale()?, keys.fields(), &order).map(Reply::from)
            }
        }
    }
}
