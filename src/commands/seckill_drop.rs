//! `SECKILL.DROP voucher [FORCE] [SALE id]`: deletes all keys of a voucher, never a stream. Refused
//! while orders are held, unless FORCE releases them first.

use super::decided::{apply_to_all, end_hold};
use super::{Answering, Command, SALE, VOUCHER};
use crate::args::{Said, arguments};
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::Voucher;
use domain::book::Reason;
use domain::rules::{Meant, SaleId};
use domain::sales::{End, drop};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.drop",
    handler: handler::<Answering<Drop>>(),
    flags: c"write fast",
    summary: c"Deletes all keys of a voucher, but no stream",
    complexity: c"O(1), memory is freed in the background. With FORCE O(log N) per held order",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// The sale that is to end.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        [force: Said = FORCE]
        [sale: SaleId = SALE]
    }
}

const FORCE: ArgSpec = ArgSpec::word(c"force", c"FORCE");

/// How many orders one command releases. Bounds its time.
const RELEASES_MAX: usize = 100;

/// The reply when more orders are held than one command releases.
const MORE_HELD: i64 = 2;

struct Drop;

impl Command for Drop {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::to_end(ctx, &memory.vouchers, given.voucher)?;
        let sale = Sale::of(&opening);
        if given.force.is_none() {
            memory.arrivals.check(&sale)?;
        }
        // The sale is over: what is released here is nobody's.
        sale.promote_nobody();
        let end = drop(&sale, Meant::by_request(given.sale), given.force.is_some(), RELEASES_MAX)?;
        sale.take_as_found();
        let plan = match end {
            End::Delete(plan) => plan,
            End::Cancel { ids, delete, end } => {
                let mut plan = delete.unwrap_or_else(|| end.clone());
                for (number, id) in ids.iter().enumerate() {
                    match end_hold(memory, &sale, id, Reason::Cancelled) {
                        Ok(()) => {}
                        // Nothing has been changed.
                        Err(error) if number == 0 => return Err(error),
                        Err(_) => {
                            plan = end;
                            break;
                        }
                    }
                }
                plan
            }
        };
        let is_deleted = apply_to_all(memory, &sale, &plan)?;
        Ok(Reply::Integer(plan.delete.map_or(MORE_HELD, |_| is_deleted.into())))
    }
}
