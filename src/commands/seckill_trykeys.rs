//! SECKILL.TRYKEYS stock buyers orders voucher user orderid [UNITS n] [NOSTREAM]: SECKILL.TRY
//! with its keys spelled out.

use super::unmanaged::{Order, sell};
use super::{Answering, Command};
use crate::args::{Args, KeyName};
use crate::error::CommandError;
use crate::keyspace::names::{CurrentFields, SaleKeys};
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, handler};

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
    fn run(ctx: Ctx<'_>, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (stock, buyers, orders) =
            (args.next::<KeyName>()?, args.next::<KeyName>()?, args.next::<KeyName>()?);
        let mut order = Order::parse(&mut args)?;
        if args.take_word("UNITS") {
            order.units = args.next_units()?;
        }
        let no_stream = args.take_word("NOSTREAM");
        args.finish()?;
        let orders = (!no_stream).then_some(orders.0);
        let keys = SaleKeys { stock: stock.0, buyers: buyers.0, orders };
        keys.check_differ()?;
        sell(ctx, keys, CurrentFields::now().fields(), &order).map(Reply::from)
    }
}
