//! A check's repair of an order by itself: the book's words are joined like entries, if that leaves
//! no conflict, but of its payments: whose one is, or of how many units, is then asked by name.
//! Nothing is guessed.

use crate::account::Account;
use crate::conflicts::Conflicts;
use crate::flat_map::FlatMap;
use crate::payments::Outcome;
use crate::references::Others;
use crate::rows::{Paid, Phase, Release, Report, Times};
use crate::server_state::{Booked, Record, Server};
use crate::unit_set::UnitSet;

/// What is unclear of a payment.
const UNCLEAR: Conflicts = Conflicts::REFERENCE.or(Conflicts::PAID_OTHERWISE);

/// The account with what the server says of the order and its payments, if that changes it.
/// `is_held`: its sale holds orders until they are paid. Of an order with a conflict or a ruling,
/// and of a sale that is over, which has no book, only payments are joined that the row does not
/// know.
pub fn repaired<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    is_held: bool,
    others: impl Fn(&R) -> Others,
) -> Option<Account<R, I>> {
    let mut all = None;
    if account.ruling.is_none()
        && account.conflicts(&others).is_none()
        && let Some(order) = &server.order
    {
        let mut next = account.clone();
        for report in words(account, order, &server.records, is_held) {
            next.join(None, &report);
        }
        let is_sound = next.conflicts(&others).without(UNCLEAR).is_none();
        all = Some(next).filter(|next| next != account && is_sound);
    }
    for (reference, record) in server.records.iter().filter(|(_, record)| record.is_its) {
        let before = all.as_ref().unwrap_or(account);
        let is_shared = others(reference).is_of_others;
        if !is_to_be_joined(before, server, reference, record, is_shared) {
            continue;
        }
        let mut next = before.clone();
        let is_paid = before.payments.get(reference).is_some_and(|it| it.pays);
        next.join(None, &payment_word(server, reference, record, is_paid));
        // What then contradicts is a question about the order.
        if next != *before {
            all = Some(next);
        }
    }
    all
}

/// The entries of a payment that paid the order are the book's; not so if the book has lost that,
/// if they say other units, if a ruling is what the order has, or if it is to be asked first whose
/// the payment is.
fn is_to_be_joined<R: Ord, I>(
    account: &Account<R, I>,
    server: &Server<R>,
    reference: &R,
    record: &Record,
    is_shared: bool,
) -> bool {
    let order = server.order.as_ref();
    let is_booked = order.is_some_and(|order| order.reference.as_ref() == Some(reference));
    let is_paid = account.payments.get(reference).is_some_and(|it| it.pays);
    match record.outcome {
        Outcome::Late | Outcome::Duplicate | Outcome::Unmatched => true,
        Outcome::First | Outcome::Released if is_paid => record.units.is_some(),
        Outcome::First | Outcome::Released => !is_booked || is_shared || account.ruling.is_some(),
    }
}

/// What a record says. Of a payment that the book's order does not have it is not known what
/// became of its units: they are open. Of one that is known to have paid the order it says its own
/// units alone.
fn payment_word<R: Ord + Clone>(
    server: &Server<R>,
    reference: &R,
    record: &Record,
    is_paid: bool,
) -> Report<R> {
    let asked = server.order.as_ref().map_or(0, |order| order.asked);
    let (outcome, units) = match record.outcome {
        Outcome::First | Outcome::Released if is_paid => (Outcome::First, 0),
        Outcome::First | Outcome::Released => (Outcome::First, record.units.unwrap_or(asked)),
        other => (other, record.units.unwrap_or(0)),
    };
    let payment = Paid { reference: reference.clone(), units: record.units };
    Report::Payment { outcome, payment, units }
}

/// What the book says of an order's payment, as the entries of its confirmation and of releases
/// with REFUNDED would.
pub(crate) fn payment_words<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
) -> Vec<Report<R>> {
    let order = server.order.as_ref().filter(|order| order.reference.is_some());
    let words = order.map(|order| words(account, order, &server.records, true));
    let is_its = |report: &Report<R>| match report {
        Report::Confirmed { .. } => true,
        Report::Released(release) => release.is_refunded,
        Report::Accepted { .. } | Report::Payment { .. } => false,
    };
    words.unwrap_or_default().into_iter().filter(is_its).collect()
}

/// The book's words of an order, as entries would say them. `is_held`: as for [`repaired`].
fn words<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    order: &Booked<R>,
    records: &FlatMap<R, Record>,
    is_held: bool,
) -> Vec<Report<R>> {
    let mut words = Vec::new();
    let is_sold = matches!(order.phase, Phase::Sold | Phase::ReleasedSold);
    let kept = if matches!(order.phase, Phase::Held | Phase::Sold) { order.units } else { 0 };
    let held_to = account.row.held_to.unwrap_or(i64::MAX);
    // The book or the row knows it for sure; the sale may be sold in another way now.
    let is_held = match account.row.accepted {
        _ if !is_sold => true,
        Times::Never => is_held,
        _ => !account.row.is_at_once,
    };
    // The units that the order had when it was paid, as far as its payment's own row does not know.
    // One that was sold at once had all it asked for when it was sold.
    let payment_row = order.reference.as_ref().and_then(|it| account.payments.get(it));
    let had = payment_row.map_or(0, |it| it.had);
    let known = match had {
        0 if is_held => account.row.sold,
        0 if order.reference.is_none() => order.asked,
        _ => had,
    };
    let refunded = order.refunded.ranges().last().map_or(0, |(_, last)| last);
    let sold = match order.paid {
        Some(paid) if had == 0 => paid.min(order.asked).min(held_to).max(order.units),
        None if order.asked == order.units => order.units,
        // If that is not known, no unit is taken for paid that nobody names.
        _ => known.max(order.units).max(refunded),
    };
    if account.row.accepted == Times::Never {
        words.push(Report::Accepted { units: order.asked, is_held });
    }
    let release = |from: i64, to: i64, was_sold, is_refunded| Release {
        units: from.saturating_sub(to),
        kept: to,
        was_sold,
        reference: order.reference.clone().filter(|_| was_sold),
        is_refunded,
        is_norestock: false,
    };
    let released = |from, to, was_sold, is_refunded| {
        Report::Released(release(from, to, was_sold, is_refunded))
    };
    if !is_sold {
        words.extend((kept < order.asked).then(|| released(order.asked, kept, false, false)));
        return words;
    }
    let paid = order.reference.as_ref().map(|reference| {
        let record = records.get(reference).filter(|record| record.is_its);
        Paid { reference: reference.clone(), units: record.and_then(|record| record.units) }
    });
    if let Some(payment) = &paid
        && order.phase == Phase::ReleasedSold
        && payment_row.is_some_and(|it| it.is_of_released)
    {
        // It came after the release, and was never kept.
        let (payment, units) = (payment.clone(), order.units);
        words.push(Report::Payment { outcome: Outcome::Released, payment, units });
        return words;
    }
    if is_held || paid.is_some() {
        words.push(Report::Confirmed { units: sold, payment: paid });
    }
    if sold < order.asked && !is_held {
        let reference = None;
        words.push(Report::Released(Release {
            reference,
            ..release(order.asked, sold, true, false)
        }));
    }
    let gone = UnitSet::between(kept.saturating_add(1), sold);
    let (refunded, due) = (gone.common(&order.refunded), gone.without(&order.refunded));
    for (units, is_refunded) in [(refunded, true), (due, false)] {
        let range =
            |(first, last): (i64, i64)| released(last, first.saturating_sub(1), true, is_refunded);
        words.extend(units.ranges().map(range));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Answer, ServerStep, plan, question};
    use crate::ruling::Word;
    use crate::rulings::{Wanted, rule};

    type Known = Account<&'static str, u32>;

    fn server(phase: Phase, outcome: Outcome) -> Server<&'static str> {
        let (reference, paid, refunded) = (None, None, UnitSet::EMPTY);
        let order = Booked { phase, units: 2, asked: 2, reference, paid, refunded };
        let record = Record { outcome, is_its: true, units: Some(2) };
        let records = FlatMap::from_iter([("p", record)]);
        Server { order: Some(order), outside: 0, records, left: 5, is_over: false }
    }

    fn held() -> Known {
        let mut account = Known::default();
        account.join(Some(1), &Report::Accepted { units: 2, is_held: true });
        account.step(Conflicts::NONE);
        account
    }

    fn others(_: &&str) -> Others {
        Others::default()
    }

    fn repair(account: &mut Known, server: &Server<&'static str>, is_held: bool) -> bool {
        let next = repaired(account, server, is_held, others);
        let is_repaired = next.is_some();
        *account = next.unwrap_or_else(|| account.clone());
        is_repaired
    }

    /// The book was restored from a copy that is older, and the database, too.
    #[test]
    fn a_payment_on_record_that_the_books_order_lacks_is_asked() {
        let (mut account, server) = (held(), server(Phase::Held, Outcome::First));
        assert!(!question(&account, &server, others).is_asked());
        assert!(repair(&mut account, &server, true));
        assert!(question(&account, &server, others).is_open);
        // Another CONFIRM changes nothing: its units are taken instead.
        let kept = plan(&account, &server, Answer::Keep(None), others);
        assert_eq!((kept.ruling.kept, kept.ruling.reference), (2, Some("p")));
        assert!(matches!(
            kept.before[..],
            [ServerStep::Cancel { .. }, ServerStep::Take { units: 2 }]
        ));
        assert!(!repair(&mut account, &server, true));
    }

    /// Sold at once or held, and all that is left of it is the book, which does not tell how many
    /// units it had when it was paid: no unit is due that nobody names.
    #[test]
    fn an_order_that_was_reduced_is_repaired_without_its_entries() {
        let refunded = |units: i64| match units {
            0 => UnitSet::EMPTY,
            units => UnitSet::between(units, units),
        };
        for (is_held, reference, paid, elsewhere, had) in [
            (false, None, None, 0, 0),
            (false, Some("p"), None, 0, 2),
            (false, Some("p"), Some(2), 0, 2),
            (false, Some("p"), Some(3), 0, 3),
            (false, Some("p"), None, 3, 3),
            (true, None, None, 0, 0),
            (true, Some("p"), None, 0, 2),
            (true, Some("p"), Some(2), 0, 2),
            (true, Some("p"), Some(3), 0, 3),
            (true, Some("p"), None, 3, 3),
        ] {
            for phase in [Phase::Sold, Phase::ReleasedSold] {
                let refunded = refunded(elsewhere);
                let order = Booked { phase, units: 2, asked: 3, reference, paid, refunded };
                let outcome = if phase == Phase::Sold { Outcome::First } else { Outcome::Released };
                let record = Record { outcome, is_its: true, units: paid };
                let records = reference.map(|reference| (reference, record));
                let records = records.into_iter().collect();
                let order = Some(order);
                let server = Server { order, outside: 0, records, left: 5, is_over: false };
                let mut account = Known::default();
                assert!(repair(&mut account, &server, is_held));
                let written = account.write_lines(others);
                account.step(Conflicts::NONE);
                let about = format!("{is_held} {reference:?} {paid:?} {elsewhere} {phase:?}");
                assert!(!question(&account, &server, others).is_asked(), "{about} {account:?}");
                let kept = if phase == Phase::Sold { 2 } else { 0 };
                assert_eq!(account.row.live(), kept, "{about}");
                let due = (reference.is_some() && kept + i64::from(elsewhere > 0) < had)
                    .then(|| ("p", kept + 1, if elsewhere > 0 { 2 } else { had }));
                assert_eq!(written, Vec::from_iter(due), "{about}");
                assert!(!repair(&mut account, &server, is_held), "{about}");
            }
        }
    }

    /// Its sale has held orders, and sells at once now.
    #[test]
    fn an_order_that_nobody_paid_is_not_written_as_sold() {
        for (phase, live) in [(Phase::Held, 2), (Phase::Released, 0)] {
            let (mut account, mut server) = (Known::default(), server(phase, Outcome::First));
            server.records = FlatMap::default();
            assert!(repair(&mut account, &server, false));
            account.step(Conflicts::NONE);
            assert_eq!((account.row.phase(), account.row.live()), (phase, live));
            assert!(!question(&account, &server, others).is_asked());
        }
    }

    /// A payment whose confirmation was lost, of an order that was sold at once.
    #[test]
    fn a_lost_payment_of_a_reduced_order_is_for_what_the_order_has() {
        let mut account = Known::default();
        account.join(Some(1), &Report::Accepted { units: 3, is_held: false });
        account.step(Conflicts::NONE);
        let mut server = server(Phase::Sold, Outcome::First);
        let order = server.order.as_mut().expect("an order");
        (order.asked, order.reference) = (3, Some("p"));
        server.records.get_mut(&"p").expect("its record").units = None;
        assert!(repair(&mut account, &server, false));
        account.step(Conflicts::NONE);
        assert_eq!((account.row.live(), account.write_lines(others)), (2, Vec::new()));
        assert!(!question(&account, &server, others).is_asked());
    }

    /// It came after a ruling, and the database returned to a backup of before.
    #[test]
    fn a_late_payment_of_an_order_with_a_ruling_is_joined() {
        let mut account = held();
        let wanted = Wanted { word: Word::Lost, kept: 0, reference: None, is_without_units: false };
        let shown = account.clone();
        rule(&mut account, &shown, &wanted, &[], others).expect("a ruling");
        assert!(repair(&mut account, &server(Phase::Released, Outcome::Late), true));
        assert_eq!(account.write_lines(others), [("p", 1, 2)]);
        assert!(account.standing(account.conflicts(others)).is_some());
    }
}
