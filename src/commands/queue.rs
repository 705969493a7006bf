//! Promotes the first of orders that wait.

use super::written::write;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use domain::facts::Facts;
use domain::waitlist::{self, ENDED_MAX, Next};

/// Promotes the first in the queue as far as one command may. What is refused is left to the timer,
/// as is the rest, and the time of the next look if the rules are others.
#[cold]
pub(super) fn promote_some(memory: &Memory, sale: &Sale<'_>, has_other_rules: bool) {
    let is_done = match promote(memory, sale) {
        Ok(Next::Nobody) => true,
        Ok(Next::Later(_)) => !has_other_rules,
        _ => false,
    };
    if !is_done && let Some((db, queue)) = sale.queue_name() {
        memory.holds.mark(db, queue.bytes());
    }
}

/// Promotes the first in the queue, at most so many orders that a command may. Says what is to be
/// done next.
pub(crate) fn promote<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
) -> Result<Next<Name<'a>>, CommandError> {
    loop {
        let next = waitlist::next(sale).inspect_err(|_| sale.close())?;
        if matches!(next, Next::Nobody | Next::Later(_)) || !sale.may_serve() {
            sale.close();
            return Ok(next);
        }
        promote_one(memory, sale, next)?;
    }
}

fn promote_one<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    next: Next<Name<'a>>,
) -> Result<(), CommandError> {
    let is_stray = matches!(next, Next::Stray(_));
    let plan = waitlist::promote(sale, next).inspect_err(|_| sale.close())?;
    if let Some(plan) = plan {
        write(sale, &plan).inspect_err(|_| sale.close())?;
    }
    if is_stray && memory.holds.may_complain(sale.now()) {
        sale.warn_of_stray();
    }
    Ok(())
}

/// Releases all orders that have waited until the sale ended, before its end is changed. Refused
/// where these are too many for one command: the timer has them.
pub(super) fn end_waits(memory: &Memory, sale: &Sale<'_>) -> Result<(), CommandError> {
    let waiting = sale.queue().inspect_err(|_| sale.close())?.waiting;
    if waiting > ENDED_MAX as u64 {
        sale.close();
        return Err(CommandError::EndingWaits);
    }
    for _ in 0..waiting {
        let next = waitlist::next(sale).inspect_err(|_| sale.close())?;
        if !matches!(next, Next::End(_) | Next::Stray(_)) {
            break;
        }
        promote_one(memory, sale, next)?;
    }
    sale.close();
    Ok(())
}
