//! SECKILL.ORDER voucher orderid: the state of an order.

use super::managed::{READS_VOUCHER, deadline_of};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::OrderId;
use domain::book::Entry;
use domain::terms::SaleId;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.order",
    handler: handler::<Answering<Order>>(),
    flags: c"readonly fast",
    categories: c"read fast seckill",
    arity: 3,
    summary: c"Returns the state of an order of a managed voucher",
    complexity: c"O(1)",
    since: c"0.2.0",
    keys: READS_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
    ],
};

struct Order;

impl Command for Order {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, id) = (args.next()?, args.next::<OrderId<'_>>()?);
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let Some(text) = book::entry(ctx, keys.managed()?, id)? else { return Ok(Reply::Null) };
        let entry = Entry::parse(text.as_str().bytes())?;
        // Rules that can't be read don't prevent an answer about the order.
        let terms = keys.terms_in(&memory.vouchers, ctx).ok().flatten();
        let sale = terms.and_then(|terms| terms.sale).map(SaleId::get);
        Ok(Reply::Map(vec![
            ("user", Reply::Bytes(entry.user.to_vec())),
            ("units", Reply::Integer(entry.units.get())),
            ("state", Reply::text(entry.state.word())),
            ("deadline", deadline_of(&entry)),
            ("ref", entry.reference.map_or(Reply::Null, |bytes| Reply::Bytes(bytes.to_vec()))),
            ("sale", Reply::integer_or_null(sale)),
        ]))
    }
}
