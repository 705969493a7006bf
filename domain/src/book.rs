//! The entries of a managed voucher's book and of its buyers, as written to and read from the
//! fields of a hash.

mod spans;
mod units;

pub use spans::{SPANS_MAX, Span, Spans};
pub use units::{Has, UserUnits};

use serde::{Deserialize, Serialize};

use crate::integer::{self, Decimal};
use crate::rules::{MILLIS_MAX, Millis, Rules, Window};
use crate::sale::Units;

/// Why an order was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Cancelled,
    Expired,
    Rejected,
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// In the queue for its units.
    Waiting,
    /// Reserved until the deadline, for the user to confirm.
    Held,
    Sold,
    Released(Reason),
}

impl Reason {
    /// The reason that a word names, if any.
    pub fn parse(word: &[u8]) -> Option<Self> {
        match State::parse(word) {
            Some(State::Released(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The word, in the book and on the wire.
    pub fn word(self) -> &'static str {
        State::Released(self).word()
    }
}

impl State {
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Held,
        Self::Sold,
        Self::Released(Reason::Cancelled),
        Self::Released(Reason::Expired),
        Self::Released(Reason::Rejected),
    ];

    /// The state that a word names, if any.
    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word().as_bytes() == word)
    }

    /// The word, in the book and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Sold => "sold",
            Self::Released(Reason::Cancelled) => "cancelled",
            Self::Released(Reason::Expired) => "expired",
            Self::Released(Reason::Rejected) => "rejected",
        }
    }

    /// Does the order have its units?
    pub fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Sold)
    }

    /// Is the order over?
    pub fn is_released(self) -> bool {
        matches!(self, Self::Released(_))
    }
}

/// An order in the book: `state:units:deadline:user`.
///
/// The deadline is 0 unless the order is held, or waits: then it is the moment since when it does.
/// What few orders have follows it, in this order, each part after a comma: `sold` or `waiting` of
/// a released order that was, `asked` and the units that were asked for, if some of them were
/// released; `paid` and the units that the payment is for, if that was said; `refunded` and the
/// first and last of units that were refunded elsewhere, once per span; `ref` and the length of the
/// payment's reference, which then stands before the user:
/// `cancelled:1:0,sold,asked3,paid3,refunded2-3,ref5:pay:1:ann`.
///
/// The user is last, so it may be any bytes. An order that is not paid has no reference. A sold
/// order keeps it when it is released, since the payment must be refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry<N> {
    pub state: State,
    /// What the order has, or had when it was released.
    pub units: Units,
    /// What the try asked for: as much, or more.
    pub asked: Units,
    /// Until when the order is held, or since when it waits.
    pub deadline: Millis,
    /// The state from which the order was released.
    pub was: Option<State>,
    /// How many units the payment is for, if that was said.
    pub paid: Option<Units>,
    /// Units of the payment that were refunded elsewhere, counted from 1; the order has none of
    /// them, or had.
    pub refunded: Spans,
    /// The payment's reference; never empty.
    pub reference: Option<N>,
    pub user: N,
}

/// What the parts behind the deadline begin with.
const ASKED: &[u8] = b"asked";
const PAID: &[u8] = b"paid";
const REFUNDED: &[u8] = b"refunded";
const REFERENCE: &[u8] = b"ref";

/// Bytes that are not an entry: another client wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl<N> Entry<N> {
    /// An order as it is made.
    pub fn made(state: State, units: Units, deadline: Millis, user: N) -> Self {
        let was = state.is_released().then_some(State::Held);
        let (asked, paid, refunded) = (units, None, Spans::NONE);
        Self { state, units, asked, deadline, was, paid, refunded, reference: None, user }
    }

    /// Does the order have its units, or did it before it was released? It neither waits nor ended
    /// in the queue.
    pub fn has_had_units(&self) -> bool {
        ![Some(self.state), self.was].contains(&Some(State::Waiting))
    }

    /// Is the order held, and its deadline over? Then it counts as released, even if the timer has
    /// not processed it yet: what is answered must not depend on how busy the server is.
    pub fn is_overdue(&self, now: Millis) -> bool {
        self.state == State::Held && now >= self.deadline
    }

    /// Is the order held and overdue, or does it wait although the sale has ended? Then it counts
    /// as expired, too.
    pub fn is_over(&self, rules: &Rules, now: Millis) -> bool {
        let has_waited = self.state == State::Waiting && rules.window(now) == Window::Ended;
        self.is_overdue(now) || has_waited
    }

    /// The order as it is to be shown: one that waits beyond the end of the sale is expired, though
    /// the timer may not have processed it yet.
    pub fn seen(self, rules: &Rules, now: Millis) -> Self {
        let waits = self.state == State::Waiting;
        if waits && self.is_over(rules, now) { self.released(Reason::Expired) } else { self }
    }

    /// The order once it is released.
    pub fn released(self, reason: Reason) -> Self {
        Self { was: Some(self.state), state: State::Released(reason), deadline: 0, ..self }
    }

    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Entry<M> {
        let Self { state, units, asked, deadline, was, paid, refunded, reference, user } = self;
        let (reference, user) = (reference.map(&name), name(user));
        Entry { state, units, asked, deadline, was, paid, refunded, reference, user }
    }
}

impl<'a> Entry<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(4, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, units, more, user) = (next()?, next()?, next()?, next()?);
        let state = State::parse(word).ok_or(Garbled)?;
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        let mut more = more.split(|byte| *byte == b',');
        let deadline = more.next().and_then(integer::parse).ok_or(Garbled)?;
        let is_sound = match state {
            State::Held | State::Waiting => (1..=2 * MILLIS_MAX).contains(&deadline),
            _ => deadline == 0,
        };
        let entry = Self::made(state, units, deadline, user);
        let entry = more.try_fold(entry, Self::with)?;
        if is_sound && entry.is_paid_soundly() { Ok(entry) } else { Err(Garbled) }
    }

    /// Only a payment is for units, and refunded; and no units that a sold order has are refunded.
    fn is_paid_soundly(&self) -> bool {
        let has = if self.state == State::Sold { self.units.get() } else { 0 };
        let mut spans = self.refunded.all();
        let is_paid = self.reference.is_some() || self.paid.is_none() && self.refunded.is_none();
        is_paid && spans.all(|span| span.first.get() > has && span.last <= self.asked)
    }

    /// The entry with one of the parts behind the deadline.
    fn with(self, part: &'a [u8]) -> Result<Self, Garbled> {
        let number = |prefix| part.strip_prefix(prefix).and_then(integer::parse);
        let is_paid_next = self.refunded.is_none() && self.reference.is_none();
        let is_asked_next = self.paid.is_none() && is_paid_next;
        let has_asked = self.asked != self.units;
        let was = State::parse(part).filter(|_| self.state.is_released());
        if let Some(State::Sold | State::Waiting) = was {
            let is_next = self.was == Some(State::Held) && !has_asked && is_asked_next;
            return if is_next { Ok(Self { was, ..self }) } else { Err(Garbled) };
        }
        if let Some(asked) = number(ASKED) {
            let asked = Units::new(asked).filter(|asked| *asked > self.units).ok_or(Garbled)?;
            let is_next = !has_asked && is_asked_next;
            return if is_next { Ok(Self { asked, ..self }) } else { Err(Garbled) };
        }
        if let Some(paid) = number(PAID) {
            let is_next = self.paid.is_none() && is_paid_next;
            let paid = Units::new(paid).filter(|_| is_next).ok_or(Garbled)?;
            return Ok(Self { paid: Some(paid), ..self });
        }
        if let Some(span) = part.strip_prefix(REFUNDED) {
            let span = Span::parse(span).filter(|_| self.reference.is_none()).ok_or(Garbled)?;
            let refunded = self.refunded.behind(span).ok_or(Garbled)?;
            return Ok(Self { refunded, ..self });
        }
        let is_paid = self.state == State::Sold || self.state.is_released();
        let len = number(REFERENCE).filter(|len| *len > 0 && is_paid);
        let len = len.filter(|_| self.reference.is_none()).and_then(|len| len.try_into().ok());
        let (reference, rest) = self.user.split_at_checked(len.ok_or(Garbled)?).ok_or(Garbled)?;
        let user = rest.strip_prefix(b":").ok_or(Garbled)?;
        Ok(Self { reference: Some(reference), user, ..self })
    }
}

impl<N: AsRef<[u8]>> Entry<N> {
    pub fn write(&self) -> Vec<u8> {
        let (units, deadline) = (Decimal::new(self.units.get()), Decimal::new(self.deadline));
        // Enough for most orders, so that it grows once.
        let mut text = Vec::with_capacity(96);
        for part in [self.state.word().as_bytes(), b":", units.bytes(), b":", deadline.bytes()] {
            text.extend(part);
        }
        let mut more = |prefix: &[u8], number: Option<i64>| {
            text.push(b',');
            text.extend(prefix);
            text.extend(number.map(Decimal::new).iter().flat_map(Decimal::bytes));
        };
        if let Some(was) = self.was.filter(|was| *was != State::Held) {
            more(was.word().as_bytes(), None);
        }
        if self.asked != self.units {
            more(ASKED, Some(self.asked.get()));
        }
        if let Some(paid) = self.paid {
            more(PAID, Some(paid.get()));
        }
        for span in self.refunded.all() {
            more(&[REFUNDED, &span.text()].concat(), None);
        }
        let reference = self.reference.as_ref().map(N::as_ref);
        if let Some(reference) = reference {
            more(REFERENCE, Some(i64::try_from(reference.len()).unwrap_or(i64::MAX)));
        }
        for name in reference.into_iter().chain([self.user.as_ref()]) {
            text.push(b':');
            text.extend(name);
        }
        text
    }
}

#[cfg(test)]
mod tests;
