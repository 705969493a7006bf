//! The tries of one command: each is decided over those before it, which are applied together when
//! the command ends, or before an overdue order is released.

use super::decided::apply;
use super::seckill_try::{GENERATE, free_ids};
use super::tried::{counted, expire};
use super::{ORDER_ID, USER};
use crate::args::{check_storable, checked_len};
use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::counter::FreeIds;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{Ctx, OwnedStr, Reply, Str};
use crate::typed::{OrderId, User};
use domain::facts::Facts;
use domain::order_id::Count;
use domain::overlay::Overlay;
use domain::plan::{Decision, Order, Plan};
use domain::sale::{NoStock, Offer, TryOutcome, Units, offer};
use domain::tries::{self, EXPIRED_MAX, Wish};
use std::cell::OnceCell;
use std::collections::HashSet;

/// The maximum of bytes of all users and order ids together: 128 for each name of a full batch.
/// They are copied to keys, to the append-only file and to replicas. Up to here that costs less
/// than the tries themselves.
pub(super) const BYTES_MAX: usize = 262_144;

/// Refuses a command with more bytes of names.
pub(super) fn check_bytes(bytes: usize, of: &'static str) -> Result<(), CommandError> {
    if bytes > BYTES_MAX {
        return Err(CommandError::TooManyBytes { of, max: BYTES_MAX });
    }
    Ok(())
}

/// The result of one try of a batch. An error concerns this try only.
type Answer = Result<tries::TryAnswer, CommandError>;

/// The tries of one command.
pub(super) struct Batch<'a> {
    pairs: Vec<(User<'a>, OrderId<'a>)>,
    /// A name is too long: its try is refused, and no other.
    has_long: bool,
    ids: Option<NewIds>,
}

/// Ids for the tries that ask for one. Only an accepted try uses one.
struct NewIds {
    free: FreeIds,
    texts: Vec<OnceCell<OwnedStr>>,
}

impl NewIds {
    /// The id with this number.
    fn text(&self, number: u32) -> Option<Str<'_>> {
        let text = self.texts.get(usize::try_from(number).ok()?)?;
        Some(text.get_or_init(|| OwnedStr::new(self.free.nth(number).text().bytes())).as_str())
    }
}

impl<'a> Batch<'a> {
    pub(super) fn new(pairs: Vec<(User<'a>, OrderId<'a>)>) -> Result<Self, CommandError> {
        let (mut bytes, mut has_long) = (0_usize, false);
        for (user, id) in &pairs {
            match pair_len(*user, *id) {
                Ok(len) => bytes = bytes.saturating_add(len),
                // Nothing of it is copied.
                Err(_) => has_long = true,
            }
        }
        check_bytes(bytes, "users and orderids")?;
        Ok(Self { pairs, has_long, ids: None })
    }

    fn users(&self) -> impl Iterator<Item = Str<'a>> + Clone {
        self.pairs.iter().map(|(user, _)| user.0)
    }

    /// The answers if nobody gets anything.
    fn lost(&self) -> Vec<Answer> {
        let answer = |number| self.check(number).map(|()| TryOutcome::SoldOut.into());
        (0..self.pairs.len()).map(answer).collect()
    }

    /// Refuses the try with this number if one of its names is too long.
    fn check(&self, number: usize) -> Result<(), CommandError> {
        match self.pairs.get(number).filter(|_| self.has_long) {
            Some((user, id)) => pair_len(*user, *id).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Finds ids for all tries that ask for one. Writes nothing.
    pub(super) fn find_ids(
        &mut self,
        memory: &Memory,
        opening: &Opening<'_>,
        sale: &Sale<'_>,
    ) -> Result<(), CommandError> {
        let wanted = self.pairs.iter().filter(|(_, id)| is_wanted(*id)).count();
        if let Some(count) = i64::try_from(wanted).ok().and_then(Count::new) {
            let given = self.pairs.iter().filter(|(_, id)| !is_wanted(*id));
            let given: HashSet<&[u8]> = given.map(|(_, id)| id.0.bytes()).collect();
            let is_given = |id: &[u8]| given.contains(id);
            let free = free_ids(memory, opening, sale, count, is_given)?;
            self.ids = Some(NewIds { free, texts: (0..wanted).map(|_| OnceCell::new()).collect() });
        }
        Ok(())
    }

    /// The order that a try asks for, if `used` generated ids are used before it.
    fn order(&self, number: usize, used: u32) -> Option<Order<Name<'_>>> {
        let (user, id) = *self.pairs.get(number)?;
        let made = self.ids.as_ref().filter(|_| is_wanted(id)).and_then(|ids| ids.text(used));
        let id = Name::Given(made.unwrap_or(id.0));
        Some(Order { user: Name::Given(user.0), id, units: Units::ONE })
    }

    /// Does the answer to the try with this number use a generated id?
    fn uses(&self, number: usize, answer: &Answer) -> bool {
        let is_wanted = || self.pairs.get(number).is_some_and(|(_, id)| is_wanted(*id));
        self.ids.is_some() && is_new(answer) && is_wanted()
    }

    /// How many generated ids these first answers use.
    fn used(&self, answers: &[Answer]) -> u32 {
        if self.ids.is_none() {
            return 0;
        }
        let used = answers.iter().enumerate().filter(|(number, answer)| self.uses(*number, answer));
        u32::try_from(used.count()).unwrap_or(u32::MAX)
    }

    /// Takes the ids that were used, and makes the reply.
    pub(super) fn finish(self, ctx: Ctx<'_>, answers: Vec<Answer>) -> Reply {
        let element =
            |answer: Answer| answer.map_or_else(Reply::from, |answer| Reply::from(counted(answer)));
        let used = self.used(&answers);
        let Some(NewIds { free, .. }) = self.ids else {
            return Reply::Array(answers.into_iter().map(element).collect());
        };
        let mut made = (0..used).map(|steps| free.nth(steps));
        let elements = self.pairs.iter().zip(answers).map(|((_, id), answer)| match answer {
            Ok(tried) if is_wanted(*id) => {
                let id = if is_new(&answer) { made.next() } else { None };
                let id = id.map_or(Reply::Null, Reply::from);
                Reply::Array(vec![counted(tried).into(), id])
            }
            answer => element(answer),
        });
        let reply = Reply::Array(elements.collect());
        if let Some(count) = Count::new(used.into()) {
            free.take_first(ctx, count);
        }
        reply
    }
}

/// The bytes of both names; an error if one of them is too long.
fn pair_len(user: User<'_>, id: OrderId<'_>) -> Result<usize, CommandError> {
    check_storable(user.0, id.0)?;
    let user = checked_len::<User<'_>>(user.0, &USER)?;
    Ok(user.saturating_add(checked_len::<OrderId<'_>>(id.0, &ORDER_ID)?))
}

fn is_wanted(id: OrderId<'_>) -> bool {
    id.0.bytes() == GENERATE
}

fn is_new(answer: &Answer) -> bool {
    matches!(answer, Ok(tries::TryAnswer { outcome: TryOutcome::Accepted, is_repeat: false }))
}

/// The tries so far.
struct Tries<'s, 'a> {
    memory: &'s Memory,
    sale: &'s Sale<'a>,
    answers: Vec<Answer>,
    /// What is accepted, but not applied yet.
    accepted: Overlay<'s, Sale<'a>>,
    /// Which tries these are.
    numbers: Vec<usize>,
    /// The first order of the book that was tried again. A `WAIT` for what is replicated of it
    /// waits for whatever comes before, so also for others.
    again: Option<Plan<Name<'a>>>,
    has_written: bool,
    /// Why no user can be added to the buyers, once that is known.
    no_admission: Option<CommandError>,
    /// How many overdue orders may still be released. Bounds the time; the timer releases the rest.
    releases_left: usize,
}

/// Sells one unit to each of many users, or says why not. On an error nothing has been changed.
pub(super) fn sell<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    batch: &'a Batch<'a>,
) -> Result<Vec<Answer>, CommandError> {
    let accepted = Overlay::new(sale, batch.pairs.len());
    if sale.rules()?.is_none() {
        match offer(accepted.stock()?, Units::ONE, accepted.policy()) {
            // No user matters.
            Ok(Offer::SoldOut) => return Ok(batch.lost()),
            Ok(_) => sale.find_buyers(batch.users())?,
            Err(NoStock) => {}
        }
    }
    let mut tries = Tries {
        memory,
        sale,
        answers: Vec::with_capacity(batch.pairs.len()),
        accepted,
        numbers: Vec::with_capacity(batch.pairs.len()),
        again: None,
        has_written: false,
        no_admission: None,
        releases_left: EXPIRED_MAX,
    };
    let mut used = 0;
    loop {
        let number = tries.answers.len();
        let Some(order) = batch.order(number, used) else {
            if tries.write()? {
                break;
            }
            used = batch.used(&tries.answers);
            continue;
        };
        match batch.check(number).and_then(|()| tries.answer(&order)) {
            Ok(Some(answer)) => {
                used = used.saturating_add(batch.uses(number, &Ok(answer)).into());
                tries.answers.push(Ok(answer));
            }
            Ok(None) => used = batch.used(&tries.answers),
            Err(error) if tries.concerns_one(error, &order) => tries.answers.push(Err(error)),
            Err(error) => return Err(error),
        }
    }
    if let Some(again) = &tries.again {
        apply(memory, sale, again)?;
    }
    Ok(tries.answers)
}

impl<'a> Tries<'_, 'a> {
    /// Does an error concern one try, and not the whole command? All errors do once something was
    /// changed, and so do those about an order that is in the book.
    fn concerns_one(&self, error: CommandError, order: &Order<Name<'a>>) -> bool {
        self.has_written
            || !self.accepted.is_empty()
            || self.no_admission == Some(error)
            || error.is_of_one_try()
            || matches!(self.accepted.entry(&order.id), Ok(Some(_)))
    }

    /// Answers the next try. None if earlier tries have to be answered again first.
    fn answer(
        &mut self,
        order: &Order<Name<'a>>,
    ) -> Result<Option<tries::TryAnswer>, CommandError> {
        let (mut has_expired, mut is_without_effect) = (false, false);
        loop {
            let expired = has_expired || self.releases_left == 0;
            // Decisions are large: none is moved but into where it stays.
            match tries::decide(&self.accepted, order, Wish::PLAIN, expired) {
                Err(error) => return Err(error),
                Ok(Decision::Answer(answer)) => {
                    if is_without_effect && answer.outcome == TryOutcome::SoldOut {
                        self.sale.rest_from_due();
                    }
                    return Ok(Some(answer));
                }
                Ok(Decision::Do(answer, again @ Plan::Repeat(_))) => {
                    self.again.get_or_insert(again);
                    return Ok(Some(answer));
                }
                Ok(Decision::Do(answer, Plan::Take(take))) => {
                    match self.no_admission.filter(|_| take.admit.is_some()) {
                        None => {
                            self.numbers.push(self.answers.len());
                            self.accepted.push(take);
                            return Ok(Some(answer));
                        }
                        // As for a try alone, which finds the stream full first.
                        Some(error) if self.accepted.is_empty() => return Err(error),
                        Some(_) => {}
                    }
                }
                // An overdue order is released, which can change no more except by that.
                Ok(Decision::Do(answer, _)) if self.releases_left == 0 => return Ok(Some(answer)),
                Ok(Decision::Do(answer, plan)) => {
                    if self.accepted.is_empty() {
                        return self.release(&plan).map(|()| Some(answer));
                    }
                }
                Ok(Decision::ExpireFirst(mut ids)) => {
                    if self.accepted.is_empty() {
                        ids.truncate(self.releases_left);
                        self.releases_left = self.releases_left.saturating_sub(ids.len());
                        is_without_effect = expire(self.memory, self.sale, &ids) == 0;
                        self.has_written |= !is_without_effect;
                        self.accepted.take();
                        has_expired = true;
                    }
                }
            }
            // A release, and a refusal, are decided over what is applied.
            if !self.write()? {
                return Ok(None);
            }
        }
    }

    fn release(&mut self, plan: &Plan<Name<'a>>) -> Result<(), CommandError> {
        self.releases_left = self.releases_left.saturating_sub(1);
        apply(self.memory, self.sale, plan)?;
        self.has_written = true;
        self.accepted.take();
        Ok(())
    }

    /// Applies what is accepted so far. False if some of it was refused: the tries from the first
    /// refused one on have no answer any more. On an error this command has changed nothing.
    fn write(&mut self) -> Result<bool, CommandError> {
        if self.accepted.is_empty() {
            return Ok(true);
        }
        let takes = self.accepted.take();
        let numbers = std::mem::take(&mut self.numbers);
        let (count, error) = match self.sale.take_all(&takes) {
            Ok(Applied::All | Applied::HasBought) => {
                self.has_written = true;
                return Ok(true);
            }
            Ok(Applied::First(count, error)) => (count, error),
            // The buyers take nobody. Users who need no admission still buy.
            Err(error) => {
                self.no_admission = Some(error);
                let count = takes.iter().position(|take| take.admit.is_some()).unwrap_or(0);
                match self.sale.take_all(takes.get(..count).unwrap_or_default())? {
                    Applied::First(fewer, error) => (fewer, error),
                    Applied::All | Applied::HasBought => (count, error),
                }
            }
        };
        self.has_written |= count > 0;
        self.answers.truncate(numbers.get(count).copied().unwrap_or(0));
        self.answers.push(Err(error));
        Ok(false)
    }
}
