//! SECKILL.INFO voucher: the state of a sale.

use super::evictions::eviction_of;
use super::{Answering, Command, VOUCHER_READ};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::{book, buyers, stock};
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use crate::typed::Voucher;
use domain::facts::Refusal;
use domain::rules::{Rules, Window};
use domain::sale::Stock;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.info",
    handler: handler::<Answering<SaleInfo>>(),
    flags: c"readonly",
    summary: c"Returns the state of a voucher's sale",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// The voucher.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER_READ,
    }
}

struct SaleInfo;

impl Command for SaleInfo {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let keys = &opening.keys;
        let SaleKeys { stock, buyers, .. } = keys.sale()?;
        let left = match stock::read(ctx, stock)? {
            Stock::Missing => None,
            Stock::Left(left) => Some(left),
        };
        let buyers = buyers::count(ctx, buyers)?;
        let eviction = || eviction_of(ctx, keys).map_or(Reply::Null, |policy| Reply::text(&policy));
        let Some(rules) = keys.rules_in(ctx)? else {
            let left = left.ok_or(Refusal::NoVoucher)?;
            return Ok(unmanaged(left, buyers, eviction()));
        };
        // Every user with units counts as one unit, since none can have two.
        let all_single = left.is_some_and(|left| rules.total.saturating_sub(left) == buyers);
        let held = book::units_held(ctx, keys.managed()?, all_single)?;
        let window = rules.window(ctx.now_ms());
        let waiting = match window {
            // Their waits are over, though the timer may not have released them.
            Window::Ended => 0,
            _ => book::waiting(ctx, keys.managed()?.wait),
        };
        Ok(managed(&rules, window, left, [held, waiting], buyers, eviction()))
    }
}

/// Can these figures be those of one sale? False where somebody has set the stock, for example.
fn is_consistent(total: i64, left: Option<i64>, held: i64, buyers: i64) -> bool {
    let Some(left) = left else { return false };
    let taken = total.saturating_sub(left);
    left >= 0 && taken >= held && taken >= buyers && (taken == 0) == (buyers == 0)
}

fn unmanaged(left: i64, buyers: i64, eviction: Reply) -> Reply {
    let state = if left > 0 { "open" } else { "soldout" };
    Reply::Map(vec![
        ("managed", Reply::Integer(0)),
        ("state", Reply::text(state)),
        ("total", Reply::Null),
        ("left", Reply::Integer(left)),
        ("held", Reply::Null),
        ("sold", Reply::Null),
        ("buyers", Reply::Integer(buyers)),
        ("waiting", Reply::Null),
        ("begin", Reply::Null),
        ("end", Reply::Null),
        ("limit", Reply::Integer(1)),
        ("hold", Reply::Null),
        ("eviction", eviction),
        ("sale", Reply::Null),
        ("consistent", Reply::Null),
    ])
}

fn managed(
    rules: &Rules,
    window: Window,
    left: Option<i64>,
    [held, waiting]: [i64; 2],
    buyers: i64,
    eviction: Reply,
) -> Reply {
    let state = match window {
        Window::NotStarted => "scheduled",
        Window::Ended => "ended",
        Window::Open if left.unwrap_or(0) > 0 => "open",
        Window::Open => "soldout",
    };
    // The rest was sold: in a sound book total = left + held + sold.
    let sold = left.map(|left| rules.total.saturating_sub(left).saturating_sub(held));
    Reply::Map(vec![
        ("managed", Reply::Integer(1)),
        ("state", Reply::text(state)),
        ("total", Reply::Integer(rules.total)),
        ("left", Reply::integer_or_null(left)),
        ("held", Reply::Integer(held)),
        ("sold", Reply::integer_or_null(sold)),
        ("buyers", Reply::Integer(buyers)),
        ("waiting", Reply::Integer(waiting)),
        ("begin", Reply::integer_or_null(rules.begin)),
        ("end", Reply::integer_or_null(rules.end)),
        ("limit", Reply::Integer(rules.limit)),
        ("hold", Reply::integer_or_null(rules.hold)),
        ("eviction", eviction),
        ("sale", Reply::Integer(rules.sale.get())),
        ("consistent", Reply::Integer(is_consistent(rules.total, left, held, buyers).into())),
    ])
}
