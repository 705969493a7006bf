//! SECKILL.AUDIT voucher: reads the whole book and says whether it is sound.

use super::managed::READS_VOUCHER;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::{book, buyers, stock, terms};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use domain::audit::{Books, audit};
use domain::sale::Stock;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.audit",
    handler: handler::<Answering<Audit>>(),
    flags: c"readonly",
    categories: c"read seckill",
    arity: 2,
    summary: c"Reads the whole book of a managed voucher and compares it with its other keys",
    complexity: c"O(n), n being the orders and buyers",
    since: c"0.1.0",
    keys: READS_VOUCHER,
    args: &[ArgSpec { name: c"voucher", kind: ArgKind::Key(0) }],
};

struct Audit;

impl Command for Audit {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let terms = terms::read_managed(&memory.vouchers.terms, ctx, keys.terms())?;
        let managed = keys.managed()?;
        let left = match stock::read(ctx, managed.sale.stock)? {
            Stock::Missing => None,
            Stock::Left(left) => Some(left),
        };
        let report = audit(&Books {
            total: terms.total,
            left,
            orders: book::all_fields(ctx, managed.book)?,
            holdings: book::all_fields(ctx, managed.holdings)?,
            holds: book::all_holds(ctx, managed)?,
            extra: book::extra(ctx, managed)?,
            buyers: buyers::all(ctx, managed.sale.buyers)?,
        });
        let differences = report.differences.iter().map(|line| Reply::text(line)).collect();
        Ok(Reply::Map(vec![
            ("total", Reply::Integer(terms.total)),
            ("left", Reply::integer_or_null(left)),
            ("held", Reply::Integer(report.held)),
            ("sold", Reply::Integer(report.sold)),
            ("orders", Reply::Integer(report.orders)),
            ("buyers", Reply::Integer(report.buyers)),
            ("differences", Reply::Array(differences)),
        ]))
    }
}
