//! The row of an order in a shop's database, projected from what the server says.
//!
//! For an order of a managed voucher the book is the truth, and entries of streams only say which
//! orders to look at. But a server can lose what it had: a crash loses the end of its log, a
//! failover what the replica had not received. Then it says less than the row, and what a customer
//! was told must not be written over. Such a contradiction is returned, for a person to settle.

use crate::book::{Entry, Reason, State};

/// What is known of an order: by its row, by the book, or by an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known<N> {
    pub state: State,
    /// Whether the order is sold, or had been when it was released; None if that isn't told.
    pub was_sold: Option<bool>,
    /// The units that it has, or had when it was released.
    pub units: i64,
    /// The reference of its payment.
    pub reference: Option<N>,
}

impl<N> Known<N> {
    /// `was` is the state from which a released order was released, if that is told. Only held
    /// orders expire, and only sold ones have a reference.
    pub fn new(state: State, was: Option<State>, units: i64, reference: Option<N>) -> Self {
        let was_sold = match state {
            State::Waiting | State::Held => Some(false),
            State::Sold => Some(true),
            State::Released(_) if reference.is_some() => Some(true),
            State::Released(Reason::Expired) => Some(false),
            State::Released(_) => was.map(|was| was == State::Sold),
        };
        Self { state, was_sold, units, reference }
    }
}

impl<N: PartialEq> Known<N> {
    /// Is this the payment of an order that is released? Then the lines of that refund it.
    pub fn refunds(&self, payment: Option<&N>) -> bool {
        payment.is_some() && self.reference.as_ref() == payment && !self.state.is_live()
    }
}

impl<N> From<Entry<N>> for Known<N> {
    fn from(entry: Entry<N>) -> Self {
        Self::new(entry.state, entry.was, entry.units.get(), entry.reference)
    }
}

/// What the server says of an order of a sale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Book<N> {
    Has(Known<N>),
    /// The sale is on, and has no such order, or it waits in line: it has no row yet.
    Lacks,
    /// The server's sale of this voucher is an earlier one: it has lost this sale.
    Older,
    /// The sale was dropped, or there is no book: entries alone decide.
    Over,
}

/// In place of what the server said of a row that ended because the server had lost its order. It
/// lives again if the server has the order after all.
pub const LOST: &str = "lost: no payment is known to server or rows";

impl Book<String> {
    /// What the server says of an order, in words.
    pub fn words(&self) -> String {
        let known = match self {
            Self::Has(known) => known,
            Self::Lacks => return "no such order".to_owned(),
            Self::Older => return "an earlier sale".to_owned(),
            Self::Over => return "no sale".to_owned(),
        };
        let mut text = format!("{}, units {}", known.state.word(), known.units);
        match known.was_sold.filter(|_| !known.state.is_live()) {
            Some(true) => text.push_str(", was sold"),
            Some(false) => text.push_str(", was held"),
            None => {}
        }
        match &known.reference {
            Some(reference) => format!("{text}, ref {reference}"),
            None => format!("{text}, no ref"),
        }
    }

    /// What it says of an order id that is another user's there.
    pub fn words_of_user(user: &str) -> String {
        format!("the order id is of user {user}")
    }
}

/// The server says less than what is known, or something else. The row keeps `known`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction<N> {
    pub known: Known<N>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Tells what happened once; more may have happened since.
    Entry,
    /// Tells what is, asked after the row was read.
    Book,
}

/// What the row of an order says from now on. `row` is None if there is no row yet, `entry` if the
/// order is looked at without one. None if there is nothing to write.
///
/// Entries can be read in any order and any number of times. The book must have been asked after
/// the row was read, and locked against other writers: a stale answer looks like a loss.
pub fn project<N: Clone + Eq>(
    row: Option<&Known<N>>,
    entry: Option<&Known<N>>,
    book: &Book<N>,
) -> Result<Option<Known<N>>, Contradiction<N>> {
    let known = match (row, entry) {
        (Some(row), Some(entry)) => {
            let contradicts = || Contradiction { known: row.clone() };
            Some(later(row, entry, Source::Entry).ok_or_else(contradicts)?)
        }
        (row, entry) => row.or(entry).cloned(),
    };
    match (known, book) {
        (Some(known), Book::Has(book)) => match later(&known, book, Source::Book) {
            Some(next) => Ok(Some(next)),
            None => Err(Contradiction { known }),
        },
        (None, Book::Has(book)) => Ok(Some(book.clone())),
        // A held order that was lost is nobody's loss but the buyer's, who will ask again.
        (Some(known), Book::Lacks) if known.state == State::Sold => Err(Contradiction { known }),
        (Some(known), Book::Older) if known.state.is_live() => Err(Contradiction { known }),
        (known, _) => Ok(known),
    }
}

/// What is known after a source was heard; None if it contradicts. An order goes from held to sold
/// to released, or is released while it is held; it never gets more units, and never another
/// reference.
fn later<N: Clone + Eq>(from: &Known<N>, to: &Known<N>, source: Source) -> Option<Known<N>> {
    let is_entry = source == Source::Entry;
    let mut next = from.clone();
    match (from.state, to.state) {
        (State::Held, State::Held) | (State::Sold, State::Sold) => {}
        (State::Held, State::Sold) => {
            next.state = State::Sold;
            next.was_sold = Some(true);
        }
        (_, State::Released(_)) if from.state.is_live() => {
            let is_sold = from.state == State::Sold;
            if is_sold && to.was_sold == Some(false) {
                return None;
            }
            next.state = to.state;
            next.was_sold = if is_sold { Some(true) } else { to.was_sold };
        }
        // The entry of an earlier time, or the same release.
        _ => {
            let is_same = !to.state.is_live();
            (is_same || is_entry).then_some(())?;
            let tells = is_same || to.state == State::Sold;
            let told = to.was_sold.filter(|_| tells);
            if from.was_sold.zip(told).is_some_and(|(from, told)| from != told) {
                return None;
            }
            next.was_sold = from.was_sold.or(told);
        }
    }
    if from.state.is_live() {
        if to.units > from.units && !is_entry && to.state.is_live() {
            return None;
        }
        next.units = from.units.min(to.units);
    }
    match (&from.reference, &to.reference) {
        (Some(from), Some(to)) if from != to => return None,
        (Some(_), None) if !is_entry => return None,
        (None, Some(to)) => next.reference = Some(to.clone()),
        _ => {}
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Of = Known<&'static str>;

    const HELD: State = State::Held;
    const SOLD: State = State::Sold;
    const EXPIRED: State = State::Released(Reason::Expired);
    const CANCELLED: State = State::Released(Reason::Cancelled);

    fn live(state: State, units: i64) -> Of {
        Known::new(state, None, units, None)
    }

    fn paid(state: State, reference: &'static str) -> Of {
        Known::new(state, None, 2, Some(reference))
    }

    fn released(state: State, was: State) -> Of {
        Known::new(state, Some(was), 2, None)
    }

    /// What becomes of a row when the book is heard; None: a contradiction.
    fn by_book(row: &Of, book: &Of) -> Option<Of> {
        project(Some(row), None, &Book::Has(book.clone())).ok().flatten()
    }

    fn by_entry(row: &Of, entry: &Of) -> Option<Of> {
        project(Some(row), Some(entry), &Book::Over).ok().flatten()
    }

    #[test]
    fn a_row_follows_the_book_onwards() {
        let order = [live(HELD, 2), live(SOLD, 2), released(CANCELLED, SOLD)];
        for (at, row) in order.iter().enumerate() {
            for book in &order[at..] {
                assert_eq!(by_book(row, book).as_ref(), Some(book), "{row:?}");
            }
            for book in &order[..at] {
                assert_eq!(by_book(row, book), None, "{row:?} {book:?}");
                assert_eq!(by_entry(row, book).as_ref(), Some(row), "an old entry");
            }
        }
        let expired = released(EXPIRED, HELD);
        assert_eq!(by_book(&live(HELD, 2), &expired), Some(expired.clone()));
        for row in [live(SOLD, 2), released(CANCELLED, SOLD)] {
            assert_eq!(by_book(&row, &expired), None);
            assert_eq!(by_entry(&row, &expired), None);
            assert_eq!(by_book(&expired, &row), None);
            assert_eq!(by_entry(&expired, &row), None);
        }
        // A release that doesn't say what it released fits either.
        let told = Known { was_sold: None, ..released(CANCELLED, HELD) };
        assert_eq!(by_book(&live(SOLD, 2), &told), Some(released(CANCELLED, SOLD)));
    }

    #[test]
    fn units_only_get_fewer() {
        assert_eq!(by_book(&live(SOLD, 3), &live(SOLD, 2)), Some(live(SOLD, 2)));
        assert_eq!(by_book(&live(SOLD, 2), &live(SOLD, 3)), None);
        assert_eq!(by_entry(&live(SOLD, 2), &live(SOLD, 3)), Some(live(SOLD, 2)));
        let ended = Known { units: 1, ..released(CANCELLED, SOLD) };
        assert_eq!(by_book(&live(SOLD, 3), &ended), Some(ended));
    }

    #[test]
    fn a_reference_never_changes() {
        assert_eq!(by_book(&live(HELD, 2), &paid(SOLD, "a")), Some(paid(SOLD, "a")));
        assert_eq!(by_book(&live(SOLD, 2), &paid(SOLD, "a")), Some(paid(SOLD, "a")));
        assert_eq!(by_book(&paid(SOLD, "a"), &paid(SOLD, "a")), Some(paid(SOLD, "a")));
        for (row, book) in [("a", Some("b")), ("a", None)] {
            let book = Known { reference: book, ..paid(SOLD, "a") };
            assert_eq!(by_book(&paid(SOLD, row), &book), None);
        }
        assert_eq!(by_entry(&paid(SOLD, "a"), &paid(SOLD, "b")), None);
        assert_eq!(by_entry(&paid(SOLD, "a"), &live(HELD, 2)), Some(paid(SOLD, "a")));
        // Only a sold order has one, so its release says that it was sold.
        assert_eq!(paid(CANCELLED, "a").was_sold, Some(true));
    }

    #[test]
    fn what_the_server_has_lost_is_told() {
        for (state, book, is_fine) in [
            (HELD, Book::Lacks, true),
            (SOLD, Book::Lacks, false),
            (CANCELLED, Book::Lacks, true),
            (HELD, Book::Older, false),
            (SOLD, Book::Older, false),
            (EXPIRED, Book::Older, true),
            (SOLD, Book::Over, true),
        ] {
            let row = live(state, 1);
            let found = project(Some(&row), None, &book);
            let known = row.clone();
            let want = if is_fine { Ok(Some(row)) } else { Err(Contradiction { known }) };
            assert_eq!(found, want, "{state:?} {book:?}");
        }
        assert_eq!(project::<&str>(None, None, &Book::Lacks), Ok(None));
    }

    #[test]
    fn an_entry_without_a_row_is_evidence_too() {
        let book = Book::Has(live(HELD, 2));
        let found = project(None, Some(&live(SOLD, 2)), &book);
        assert_eq!(found, Err(Contradiction { known: live(SOLD, 2) }));
        let found = project(None, Some(&live(HELD, 2)), &Book::Has(paid(SOLD, "a")));
        assert_eq!(found, Ok(Some(paid(SOLD, "a"))));
    }

    #[test]
    fn what_the_server_says_is_said_in_words() {
        let words = |known: Known<&str>| {
            let reference = known.reference.map(str::to_owned);
            let Known { state, units, was_sold, .. } = known;
            Book::Has(Known { state, units, was_sold, reference }).words()
        };
        assert_eq!(words(live(SOLD, 2)), "sold, units 2, no ref");
        assert_eq!(words(paid(SOLD, "a")), "sold, units 2, ref a");
        assert_eq!(words(released(CANCELLED, HELD)), "cancelled, units 2, was held, no ref");
        assert_eq!(words(released(CANCELLED, SOLD)), "cancelled, units 2, was sold, no ref");
        assert_eq!(Book::words_of_user("ann"), "the order id is of user ann");
    }
}
