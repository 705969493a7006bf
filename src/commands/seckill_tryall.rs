//! `SECKILL.TRYALL voucher units [voucher units ...] user orderid`: sells all articles of a cart to
//! a user, or none.

use super::batch::{BYTES_MAX, check_bytes};
use super::seckill_try::{GENERATE, TRIED};
use super::tried::{counted, expire, try_once};
use super::{Answering, Command, ORDER_ID, UNITS, USER};
use crate::args::{Articles, arguments, check_storable};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::apply::cart::take_cart;
use crate::keyspace::names::Name;
use crate::keyspace::opening::{Opening, Openings};
use crate::keyspace::rules::check_primary;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User};
use domain::carts::{ARTICLES_MAX, ArticleAnswer, Cart, Deciding};
use domain::plan::Order;
use domain::rules::{Meant, Millis};
use domain::sale::{TryOutcome, Units};
use domain::tries::Wish;

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

/// While no name is longer, no cart has more bytes of names than a command takes.
const NAME_BYTES_MAX: usize = BYTES_MAX / (3 * ARTICLES_MAX);

/// Refuses more bytes of names. Each article has a copy of the user and of the order id.
#[cold]
fn check_names(given: &Articles<'_>, user: User<'_>, id: OrderId<'_>) -> Result<(), CommandError> {
    let copied = user.0.bytes().len().saturating_add(id.0.bytes().len());
    let lens = given.iter().map(|(voucher, _)| voucher.0.bytes().len().saturating_add(copied));
    check_bytes(lens.fold(0, usize::saturating_add), "vouchers, users and orderids")
}

struct TryAll;

impl Command for TryAll {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { articles: given, user, id } = given;
        check_storable(user.0, id.0)?;
        if config::name_bytes_max() > NAME_BYTES_MAX {
            check_names(&given, user, id)?;
        }
        if id.0.bytes() == GENERATE {
            // A cart must be repeatable.
            return Err(CommandError::GeneratedId);
        }
        let mut articles = Openings::default();
        Opening::to_try_all(ctx, &memory.vouchers, given.iter(), &mut articles)?;
        for (opening, _) in articles.iter() {
            memory.arrivals.check(&Sale::of(opening))?;
        }
        check_primary(ctx)?;
        let (user, id) = (Name::Given(user.0), Name::Given(id.0));
        Asked { articles: &articles, user, id, now: ctx.now_ms() }.try_all(memory)
    }
}

/// A cart as a client asks for it.
struct Asked<'a> {
    articles: &'a Openings<'a>,
    user: Name<'a>,
    id: Name<'a>,
    now: Millis,
}

impl<'a> Asked<'a> {
    #[inline]
    fn sale(&self, opening: &'a Opening<'a>) -> Sale<'a> {
        let sale = Sale::of(opening);
        sale.is_at(self.now);
        sale
    }

    /// The decision, and the sales of a cart that is made, with what is open of them.
    fn decide(&self, expired: bool) -> Result<(Cart<Name<'a>>, Vec<Sale<'a>>), CommandError> {
        let mut cart = Deciding::new(expired);
        let mut sales: Vec<Sale<'a>> = Vec::new();
        for (opening, units) in self.articles.iter() {
            let (user, id) = (self.user.clone(), self.id.clone());
            let sale = self.sale(opening);
            if let Some(before) = sales.last() {
                sale.inherit_stream(before);
            }
            cart.article(&sale, &Order { user, id, units: *units })?;
            if cart.is_accepted() {
                if sales.is_empty() {
                    sales.reserve_exact(self.articles.len());
                }
                sales.push(sale);
            }
        }
        let decided = cart.end()?;
        if !matches!(decided, Cart::Made(_)) {
            sales.clear();
        }
        Ok((decided, sales))
    }

    /// Tries once, after overdue orders that stand in the way of an article were released.
    fn try_all(&self, memory: &Memory) -> Result<Reply, CommandError> {
        match self.decide(false)? {
            (Cart::ExpireFirst(due), _) => self.try_expired(memory, &due),
            (decided, sales) => self.carry_out(memory, decided, sales),
        }
    }

    #[cold]
    fn try_expired(
        &self,
        memory: &Memory,
        due: &[(usize, Vec<Name<'a>>)],
    ) -> Result<Reply, CommandError> {
        let is_without_effect = |(number, ids): &&(usize, Vec<Name<'a>>)| {
            let opening = self.articles.get(*number).map(|(opening, _)| opening);
            opening.is_some_and(|it| expire(memory, &self.sale(it), ids) == 0)
        };
        let without_effect: Vec<_> = due.iter().filter(is_without_effect).collect();
        let (decided, sales) = self.decide(true)?;
        if let Cart::Refused(parts) = &decided {
            let sold_out = ArticleAnswer::Tried(TryOutcome::SoldOut.into());
            for (number, _) in without_effect {
                if let (Some((opening, _)), Some(part)) =
                    (self.articles.get(*number), parts.get(*number))
                    && *part == sold_out
                {
                    self.sale(opening).rest_from_due();
                }
            }
        }
        self.carry_out(memory, decided, sales)
    }

    /// Answers an article again, which may release it.
    fn repeat(
        &self,
        memory: &Memory,
        (opening, units): &'a (Opening<'a>, Units),
    ) -> Result<i64, CommandError> {
        let order = Order { user: self.user.clone(), id: self.id.clone(), units: *units };
        let outcome = try_once(memory, &self.sale(opening), Meant::Any, &order, Wish::PLAIN)?;
        Ok(outcome.code())
    }

    fn carry_out(
        &self,
        memory: &Memory,
        decided: Cart<Name<'a>>,
        sales: Vec<Sale<'a>>,
    ) -> Result<Reply, CommandError> {
        match decided {
            Cart::Refused(parts) => {
                metrics::CARTS_REFUSED.count();
                Ok(Reply::codes(parts.iter().map(code)))
            }
            Cart::Repeated => {
                let codes: Result<Vec<_>, _> =
                    self.articles.iter().map(|it| self.repeat(memory, it)).collect();
                Ok(Reply::codes(codes?.into_iter()))
            }
            Cart::Made(takes) => {
                take_cart(&sales, &takes)?;
                metrics::CARTS_ACCEPTED.count();
                Ok(Reply::codes(takes.iter().map(|_| counted(TryOutcome::Accepted.into()).code())))
            }
            // An expired cart does not expire again.
            Cart::ExpireFirst(_) => Err(CommandError::Garbled),
        }
    }
}

/// Counts what an article is answered as the answer to a try, unless it was left.
fn code(part: &ArticleAnswer) -> i64 {
    if let ArticleAnswer::Tried(answer) = part {
        counted(*answer);
    }
    part.code()
}
