//! `SECKILL.CREATE voucher stock|ADOPT [BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`: makes a managed
//! voucher, with a new stock or with the existing one.

use super::managed::{UPDATES_VOUCHER, terms_from};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::{stock, terms};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Str, eviction_of_any_key, handler};
use crate::typed::Voucher;
use domain::sale::Stock;
use domain::terms::{SaleId, Terms};
use std::ops::RangeInclusive;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.create",
    handler: handler::<Answering<Create>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -3,
    summary: c"Creates a managed voucher: stock, time window, limit per user, reservations",
    complexity: c"O(1)",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"stock", kind: ArgKind::IntegerOr(c"ADOPT") },
        ArgSpec { name: c"begin", kind: ArgKind::OptionalInteger(c"BEGIN") },
        ArgSpec { name: c"end", kind: ArgKind::OptionalInteger(c"END") },
        ArgSpec { name: c"limit", kind: ArgKind::OptionalInteger(c"LIMIT") },
        ArgSpec { name: c"hold", kind: ArgKind::OptionalInteger(c"HOLD") },
    ],
};

/// How many units can be on sale.
const UNITS: RangeInclusive<i64> = 0..=i64::MAX;

struct Create;

impl Command for Create {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        let is_adopted = args.take_word("ADOPT");
        let total = if is_adopted { 0 } else { args.next_integer("stock", UNITS)? };
        let sale = SaleId::created_at(ctx.now_us());
        let terms = Terms { total, begin: None, end: None, limit: 1, hold: None, sale: Some(sale) };
        let terms = terms_from(args, terms)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let adopted = if is_adopted { Some(stock_to_adopt(ctx, keys.stock())?) } else { None };
        let mut own = keys.managed()?.own().into_iter();
        let is_free = |key: Str<'_>| is_adopted && key.bytes() == keys.stock().bytes();
        if own.any(|key| !is_free(key) && terms::exists(ctx, key)) {
            return Err(CommandError::Exists);
        }
        match adopted {
            // The stock stays as it is, with its time to live.
            Some(total) => terms::write(ctx, keys.terms(), &Terms { total, ..terms })?,
            None => {
                // Two plain SETs of missing keys: if the first succeeds, so does the second.
                terms::write(ctx, keys.terms(), &terms)?;
                stock::create(ctx, keys.stock(), total)?;
            }
        }
        if let Some(policy) = eviction_of_any_key(ctx) {
            ctx.warn(&format!(
                "this server may evict the keys of the new sale when memory is short \
                 (maxmemory-policy {policy}): set noeviction or a volatile policy"
            ));
        }
        Ok(Reply::Ok)
    }
}

/// The stock that an application has set.
fn stock_to_adopt(ctx: Ctx<'_>, key: Str<'_>) -> Result<i64, CommandError> {
    match stock::read(ctx, key)? {
        Stock::Missing => Err(CommandError::NoVoucher),
        Stock::Left(left) if UNITS.contains(&left) => Ok(left),
        // Also refuses -1, which means no limit on an unmanaged voucher: a total is a number.
        Stock::Left(_) => {
            Err(CommandError::NotInRange { argument: "stock", min: 0, max: i64::MAX })
        }
    }
}
