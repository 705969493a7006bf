//! `SECKILL.CREATE voucher stock|ADOPT [BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`: makes a managed
//! voucher, with a new stock or with the existing one.

use super::rules::{RulesGiven, warn_without_stream};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler, new_eviction_of_any_key};
use domain::rules::{Rules, SaleId};
use domain::sales::create;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.create",
    handler: handler::<Answering<Create>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -3,
    summary: c"Creates a managed voucher: stock, time window, limit per user, reservations",
    complexity: c"O(1)",
    since: c"0.1.0",
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

struct Create;

impl Command for Create {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let is_adopted = args.take_word("ADOPT");
        let total = if is_adopted { 0 } else { args.next_integer("stock", 0..=i64::MAX)? };
        let sale = SaleId::created_at(ctx.now_us());
        let rules = Rules { total, begin: None, end: None, limit: 1, hold: None, sale };
        let rules = RulesGiven::parse(args)?.apply(rules)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        sale.apply_to_all(&create(&sale, rules, is_adopted)?)?;
        if rules.hold.is_some() {
            warn_without_stream(ctx, &keys);
        }
        if let Some(policy) = new_eviction_of_any_key(ctx) {
            ctx.warn(&format!(
                "this server may evict the keys of sales when memory is short \
                 (maxmemory-policy {policy}): set noeviction"
            ));
        }
        Ok(Reply::Ok)
    }
}
