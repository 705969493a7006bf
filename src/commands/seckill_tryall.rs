//! `SECKILL.TRYALL voucher units [voucher units ...] user orderid`: sells all articles of a cart to
//! a user, or none.

use super::decided::apply;
use super::seckill_try::{GENERATE, TRIED};
use super::tried::{counted, settle};
use super::{Answering, Command, ORDER_ID, UNITS, USER};
use crate::args::{Articles, arguments, check_storable};
use crate::error::CommandError;
use crate::keyspace::apply::cart::take_cart;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::rules::check_primary;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User};
use domain::carts::{self, ARTICLES_MAX, Cart, Part};
use domain::plan::Order;
use domain::sale::Outcome;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.tryall",
    handler: handler::<Answering<TryAll>>(),
    flags: c"write deny-oom",
    summary: c"Sells units of up to 32 managed vouchers to a user in one order: all or nothing",
    complexity: c"O(N) where N is the number of vouchers",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A cart, and whose order it is to be.
    Given<'a> {
        articles: Articles<'a> = ARTICLES,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
    }
}

const ARTICLES: ArgSpec = ArgSpec::repeated(c"article", &[TRIED, UNITS], ARTICLES_MAX).before(2);

struct TryAll;

impl Command for TryAll {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { articles: Articles(articles), user, id } = given;
        check_storable(user.0, id.0)?;
        if id.0.bytes() == GENERATE {
            // A cart must be repeatable.
            return Err(CommandError::GeneratedId);
        }
        let named = articles.iter().map(|(voucher, _)| *voucher);
        let openings = Opening::to_try_all(ctx, &memory.vouchers, named)?;
        let now = ctx.now_ms();
        let articles = openings.iter().zip(&articles).map(|(opening, (_, units))| {
            let sale = memory.arrivals.sale(opening)?;
            sale.is_at(now);
            let (user, id) = (Name::Given(user.0), Name::Given(id.0));
            Ok((sale, Order { user, id, units: *units }))
        });
        let articles = articles.collect::<Result<Vec<_>, CommandError>>()?;
        check_primary(ctx)?;
        let codes = try_all(memory, &articles)?;
        Ok(Reply::Array(codes.into_iter().map(Reply::Integer).collect()))
    }
}

type Article<'a> = (Sale<'a>, Order<Name<'a>>);

/// Tries once, after overdue orders that stand in the way of an article were released.
fn try_all(memory: &Memory, articles: &[Article<'_>]) -> Result<Vec<i64>, CommandError> {
    match carts::decide(articles, false, Sale::close)? {
        Cart::Settle(due) => {
            let mut in_vain = Vec::new();
            for (number, ids) in due {
                if let Some((sale, _)) = articles.get(number)
                    && settle(memory, sale, &ids) == 0
                {
                    in_vain.push(number);
                }
            }
            let decided = carts::decide(articles, true, Sale::close)?;
            if let Cart::Refused(parts) = &decided {
                let sold_out = Part::Tried(Outcome::SoldOut.into());
                let rest = in_vain.into_iter().filter(|it| parts.get(*it) == Some(&sold_out));
                rest.filter_map(|it| articles.get(it)).for_each(|(sale, _)| sale.rest_from_due());
            }
            carry_out(memory, articles, decided)
        }
        decided => carry_out(memory, articles, decided),
    }
}

fn carry_out<'a>(
    memory: &Memory,
    articles: &[Article<'a>],
    decided: Cart<Name<'a>>,
) -> Result<Vec<i64>, CommandError> {
    match decided {
        Cart::Refused(parts) => {
            metrics::CARTS_REFUSED.count();
            Ok(parts.iter().map(code).collect())
        }
        Cart::Repeated(repeats) => {
            for ((sale, _), (_, plan)) in articles.iter().zip(&repeats) {
                apply(memory, sale, plan)?;
            }
            Ok(repeats.into_iter().map(|(answer, _)| counted(answer).code()).collect())
        }
        Cart::Made(takes) => {
            let cart: Vec<_> = articles.iter().map(|(sale, _)| sale).zip(takes).collect();
            take_cart(&cart)?;
            metrics::CARTS_ACCEPTED.count();
            Ok(cart.iter().map(|_| counted(Outcome::Accepted.into()).code()).collect())
        }
        // A settled cart does not settle again.
        Cart::Settle(_) => Err(CommandError::Garbled),
    }
}

/// Counts what an article is answered as the answer to a try, unless it was left.
fn code(part: &Part) -> i64 {
    if let Part::Tried(answer) = part {
        counted(*answer);
    }
    part.code()
}
