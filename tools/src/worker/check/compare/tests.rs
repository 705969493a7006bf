//! The report about orders that differ.

use crate::order_events::OrderKey;
use crate::seen_entries::SeenEntries;
use domain::book::{Reason, State};
use domain::entry_id::EntryId;

use super::*;
use crate::batch::Sole;

fn fact(user: &str, state: State) -> Fact {
    let deadline_ms = (state == State::Held).then_some(9);
    Fact { user: user.to_owned(), known: Known::new(state, None, 1, None), deadline_ms }
}

fn row(order: &str, user: &str, state: State) -> Row {
    let key = OrderKey { voucher: "7".into(), sale: "1".into(), order: order.to_owned() };
    let mut seen = SeenEntries::default();
    seen.order(EntryId { ms: 1, seq: 1 });
    Row {
        key,
        user: user.to_owned(),
        known: Known::new(state, None, 1, None),
        deadline_ms: None,
        sole: Sole::Yes,
        seen,
        confirmed_id: String::new(),
        disputed: String::new(),
        is_settled: false,
    }
}

fn managed(orders: &[(&str, &str, State)]) -> Sold {
    let live = orders.iter().filter(|order| order.2.is_live()).count() as i64;
    Sold {
        voucher: "7".to_owned(),
        sale: "1".to_owned(),
        is_managed: true,
        limit: 1,
        total: Some(9),
        left: 9 - live,
        buyers: live,
        orders: orders.iter().map(|(id, user, state)| ((*id).into(), fact(user, *state))).collect(),
        users: BTreeSet::new(),
    }
}

fn found(sold: &Sold, rows: Vec<Row>) -> Vec<(Kind, String, String, String)> {
    let units = rows.iter().filter(|row| row.known.state.is_live()).count() as i64;
    let sums = [(("7".to_owned(), sold.sale.clone()), units)].into_iter().collect();
    let compared =
        compare(std::slice::from_ref(sold), &Ledger { rows, sums, ..Ledger::default() }, None);
    let told = compared.differences.into_iter();
    told.map(|one| (one.kind, one.order, one.server, one.row)).collect()
}

#[test]
fn orders_that_differ_are_named() {
    use State::{Held, Sold};
    let [cancelled, expired, rejected] =
        [Reason::Cancelled, Reason::Expired, Reason::Rejected].map(State::Released);
    for (server, rows, wanted) in [
        (Sold, Some(Sold), None),
        (Held, Some(Held), None),
        (cancelled, None, None),
        (rejected, None, None),
        (expired, Some(cancelled), None),
        (Sold, None, Some(Kind::Missing)),
        (Held, None, Some(Kind::Missing)),
        (Sold, Some(Held), Some(Kind::Behind)),
        (expired, Some(Held), Some(Kind::Behind)),
        (cancelled, Some(Sold), Some(Kind::Behind)),
        (Sold, Some(cancelled), Some(Kind::Contradicts)),
        (Held, Some(Sold), Some(Kind::Contradicts)),
    ] {
        let sold = managed(&[("o1", "ann", server)]);
        let rows = rows.map(|state| row("o1", "ann", state)).into_iter().collect();
        let kinds: Vec<_> = found(&sold, rows).into_iter().map(|told| told.0).collect();
        assert_eq!(kinds, wanted.into_iter().collect::<Vec<_>>(), "{server:?}");
    }
    let sold = managed(&[("o1", "ann", Sold)]);
    let told = found(&sold, vec![row("o1", "ben", Sold)]);
    assert_eq!(told[0].3, "of user ben");
    let told = found(&sold, vec![row("o1", "ann", Sold), row("o2", "eve", Sold)]);
    assert_eq!((told.len(), &*told[0].1, &*told[0].2), (1, "o2", "unknown"));
    // A row of another sale of the voucher.
    let mut old = row("o1", "ann", Held);
    old.key.sale = "0".to_owned();
    assert_eq!(found(&sold, vec![row("o1", "ann", Sold), old]), []);
}

#[test]
fn buyers_whose_entries_are_trimmed_are_named() {
    let mut sold = managed(&[("o1", "ann", State::Sold)]);
    sold.is_managed = false;
    sold.users = ["ann", "ben"].map(str::to_owned).into();
    sold.buyers = 2;
    let told = found(&sold, vec![row("o1", "ann", State::Sold)]);
    assert_eq!((told.len(), &*told[0].1, &*told[0].2), (1, "", "sold"));
    let rows = vec![row("o1", "ann", State::Sold), row("o2", "ben", State::Sold)];
    assert_eq!(found(&sold, rows.clone()), []);
    sold.users.remove("ben");
    assert_eq!(found(&sold, rows)[0].2, "no buyer");
}
