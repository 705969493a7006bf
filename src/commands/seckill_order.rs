//! SECKILL.ORDER voucher orderid: the state of an order.

use super::{Answering, Command, ORDER_ID, VOUCHER_READ};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, Voucher};
use domain::book::{Entry, State};
use domain::facts::Facts;
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.order",
    handler: handler::<Answering<Order>>(),
    flags: c"readonly fast",
    summary: c"Returns the state of an order of a managed voucher",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// An order of a voucher.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER_READ,
        id: OrderId<'a> = ORDER_ID,
    }
}

struct Order;

impl Command for Order {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let sale = Sale::of(&opening);
        let id = given.id;
        let Some(entry) = sale.entry(&Name::Given(id.0))? else { return Ok(Reply::Null) };
        // Rules that can't be read don't prevent an answer about the order.
        let rules = sale.rules().ok().flatten();
        let entry = match &rules {
            Some(rules) => entry.seen(rules, sale.now()),
            None => entry,
        };
        let position = match entry.state {
            State::Waiting => sale.place_in_queue(id.0)?,
            _ => None,
        };
        Ok(Reply::Map(vec![
            ("user", Reply::Bytes(entry.user.as_ref().to_vec())),
            ("units", Reply::Integer(entry.units.get())),
            ("state", Reply::text(entry.state.word())),
            ("deadline", deadline_of(&entry)),
            (
                "ref",
                entry
                    .reference
                    .as_ref()
                    .map_or(Reply::Null, |name| Reply::Bytes(name.as_ref().to_vec())),
            ),
            ("sale", Reply::integer_or_null(rules.map(|rules| rules.sale.get()))),
            ("asked", Reply::Integer(entry.asked.get())),
            ("was", entry.was.map_or(Reply::Null, |was| Reply::text(was.word()))),
            ("position", Reply::integer_or_null(position)),
            ("paid", Reply::integer_or_null(entry.paid.map(Units::get))),
            (
                "refunded",
                match entry.refunded.is_none() {
                    true => Reply::Null,
                    false => Reply::Bytes(entry.refunded.text()),
                },
            ),
        ]))
    }
}

/// The deadline of a held order.
pub(super) fn deadline_of<N>(entry: &Entry<N>) -> Reply {
    Reply::integer_or_null((entry.state == State::Held).then_some(entry.deadline))
}
