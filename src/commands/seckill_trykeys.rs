//! `SECKILL.TRYKEYS stock buyers orders voucher user orderid [UNITS n] [NOSTREAM]`: SECKILL.TRY
//! with its keys spelled out.

use super::order::Order;
use super::unmanaged;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::stock;
use crate::keyspace::voucher_keys::SaleKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, handler};
use crate::typed::KeyName;
use domain::sale::{Outcome, Units};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.trykeys",
    handler: handler::<Answering<TryKeys>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -7,
    summary: c"Sells units of a voucher as SECKILL.TRY does, on keys that the client names",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[
        KeySpec { position: 1, access: Access::Update, notes: c"The stock, a string" },
        KeySpec { position: 2, access: Access::InsertAfterLook, notes: c"The buyers, a set" },
        KeySpec {
            position: 3,
            access: Access::Insert,
            notes: c"The orders, a stream. Not touched with NOSTREAM",
        },
    ],
    args: &[
        ArgSpec { name: c"stock", kind: ArgKind::Key(0) },
        ArgSpec { name: c"buyers", kind: ArgKind::Key(1) },
        ArgSpec { name: c"orders", kind: ArgKind::Key(2) },
        ArgSpec { name: c"voucher", kind: ArgKind::String },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"units", kind: ArgKind::OptionalInteger(c"UNITS") },
        ArgSpec { name: c"nostream", kind: ArgKind::OptionalToken(c"NOSTREAM") },
    ],
};

struct TryKeys;

impl Command for TryKeys {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (stock_key, buyers, orders) =
            (args.next::<KeyName>()?, args.next::<KeyName>()?, args.next::<KeyName>()?);
        let mut order = Order::parse(&mut args)?;
        if order.id.0.bytes() == b"*" {
            return Err(CommandError::GeneratedId);
        }
        let (mut units, mut no_stream) = (None, false);
        while !args.is_empty() {
            match args.next_word(&["UNITS", "NOSTREAM"])? {
                "UNITS" if units.is_none() => units = Some(args.next_units()?),
                "NOSTREAM" if !no_stream => no_stream = true,
                _ => return Err(CommandError::Syntax),
            }
        }
        order.units = units.unwrap_or(Units::ONE);
        let orders = (!no_stream).then_some(orders.0);
        let keys = SaleKeys { stock: stock_key.0, buyers: buyers.0, orders };
        keys.check_differ()?;
        match unmanaged::ask(stock::read(ctx, keys.stock)?, &order)? {
            None => Ok(Outcome::SoldOut.into()),
            Some(grant) => {
                let configured = Configured::now(&memory.vouchers.configured);
                unmanaged::sell(ctx, memory, grant, keys, &configured.fields, &order)
                    .map(Reply::from)
            }
        }
    }
}
