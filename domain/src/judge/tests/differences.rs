//! What each difference is called, and what is none.

use super::*;
use crate::projection::{Book, LOST};

const EXPIRED: State = State::Released(Reason::Expired);

/// A fact that lives as long as any test.
fn fact(user: &'static str, state: State) -> Fact<'static> {
    let known = Known::new(state, Some(State::Sold), 1, None);
    Fact { user, known: Box::leak(Box::new(known)) }
}

fn live<'s, 'b>(sale: &'s mut Sale<'b>) -> &'s mut Live<'b> {
    match &mut sale.server {
        Server::On(live) => live,
        _ => panic!("the sale is not on"),
    }
}

/// Each finding: its kind, order and user, and what the books say.
fn told(found: &Judgement) -> Vec<(Kind, &str, &str, &str, &str)> {
    let of = found.findings.iter();
    of.map(|it| (it.kind, &*it.order, &*it.user, &*it.server, &*it.row)).collect()
}

/// Order 1 of ann, of which the rows say one thing and the server another.
fn differing(row: Known<String>, server: Known<String>) -> Shop {
    let mut shop = Shop::of(vec![("1", "ann", row)]);
    shop.book = vec![("1", "ann", server)];
    shop
}

#[test]
fn verdicts_have_their_exit_codes() {
    let all = [Verdict::Proved, Verdict::NothingSold, Verdict::Different, Verdict::Unproved];
    assert_eq!(all.map(Verdict::code), [0, 0, 1, 3]);
}

#[test]
fn a_second_look_keeps_what_both_have_found() {
    let mut shop = Shop::of(vec![sold("1", "ann", 2), sold("2", "ben", 1)]);
    assert_eq!(shop.judge().orders_live(), 2);
    let missing = shop.rows.remove(0);
    let earlier = shop.judge();
    shop.rows.clear();
    let found = shop.judge();
    assert_eq!(kinds(&found), [(Kind::Missing, missing.0), (Kind::Missing, "2")]);
    let both = found.clone().and(&earlier);
    assert_eq!(kinds(&both), [(Kind::Missing, missing.0)]);
    assert_eq!((both.totals, both.orders), (found.totals, 2));
}

#[test]
fn a_row_and_the_book_differ_in_a_word() {
    let words = |known: &Known<String>| Book::Has(known.clone()).words();
    let (paid, other) = (known(State::Sold, 1, "p"), known(State::Sold, 1, "q"));
    let one = |state| known(state, 1, "");
    let two = |state| known(state, 2, "");
    let (by_p, by_q) = (words(&paid), words(&other));
    for (row, server, kind, said, its) in [
        (one(State::Held), one(State::Sold), Kind::Behind, "sold", "held"),
        (one(State::Sold), one(State::Held), Kind::Contradicts, "held", "sold"),
        (two(State::Sold), one(State::Sold), Kind::Behind, "1 units", "2 units"),
        (one(State::Sold), two(State::Sold), Kind::Contradicts, "2 units", "1 units"),
        (paid, other, Kind::Contradicts, &*by_q, &*by_p),
    ] {
        let found = differing(row, server).judge();
        assert_eq!(told(&found), [(kind, "1", "ann", said, its)]);
    }
    let mut shop = Shop::of(vec![sold("1", "ann", 1)]);
    shop.book = vec![sold("1", "ben", 1)];
    let found = shop.judge();
    assert_eq!(told(&found), [(Kind::Contradicts, "1", "ben", "sold", "of user ann")]);
    for (state, kind, word) in
        [(State::Held, Kind::Unheld, "held"), (State::Sold, Kind::Contradicts, "sold")]
    {
        let mut shop = Shop::of(vec![("1", "ann", one(state))]);
        shop.book.clear();
        assert_eq!(told(&shop.judge()), [(kind, "1", "ann", "unknown", word)]);
    }
}

#[test]
fn a_row_that_ended_as_lost_lives_again() {
    let mut shop = differing(known(EXPIRED, 1, ""), known(State::Sold, 1, ""));
    shop.kept.insert("1", LOST);
    assert_eq!(kinds(&shop.judge()), [(Kind::Behind, "1")]);
    shop.kept.clear();
    assert_eq!(kinds(&shop.judge()), [(Kind::Contradicts, "1")]);
}

#[test]
fn a_held_row_of_a_sale_that_is_over_is_nobodys() {
    let shop = Shop::of(vec![("1", "ann", known(State::Held, 1, ""))]);
    let over = |sale| Sale { sale, is_closed: true, ..shop.sale(false) };
    assert_eq!(kinds(&judge(&[over("5")])), [(Kind::Unheld, "1")]);
    assert_eq!(kinds(&judge(&[over("")])), []);
}

#[test]
fn a_dispute_waits_for_a_person() {
    let shop = Shop::of(vec![sold("1", "ann", 1)]);
    let disputed = |is_on, is_settled| {
        let mut sale = Sale { is_closed: true, ..shop.sale(is_on) };
        let row = sale.rows.get_mut("1").unwrap();
        (row.disputed, row.is_settled) = ("no such order", is_settled);
        judge(&[sale])
    };
    let found = disputed(true, false);
    let healed = Doubt::Healed { voucher: "7".to_owned(), order: "1".to_owned() };
    assert_eq!((found.disputed, found.doubts.first()), (1, Some(&healed)));
    assert_eq!(found.verdict(), Verdict::Unproved);
    let found = disputed(true, true);
    assert_eq!((found.disputed, found.verdict()), (0, Verdict::Proved));
    let found = disputed(false, false);
    let said = "no sale; it said: no such order";
    assert_eq!(told(&found), [(Kind::Contradicts, "1", "ann", said, "sold")]);
}

#[test]
fn a_note_is_no_row_of_an_order() {
    let mut shop = Shop::of(vec![sold("2", "ben", 1), sold("3", "cat", 1)]);
    assert_eq!(shop.judge().orders, 2);
    shop.book.push(("1", "ann", known(State::Held, 1, "")));
    assert_eq!(shop.judge().orders, 3);
    shop.rows.push(sold("1", "ann", 1));
    let noted = |shop: &Shop| {
        let mut sale = shop.sale(true);
        sale.rows.get_mut("1").unwrap().is_note = true;
        kinds(&judge(&[sale])).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    // The order is missing, and what its confirmation has said differs from nothing.
    assert_eq!(noted(&shop), [Kind::Missing]);
    // All that is left of an order that the server has lost.
    shop.book.pop();
    assert_eq!(noted(&shop), [Kind::Contradicts]);
}

#[test]
fn units_are_off_the_sale_for_what_the_server_lacks() {
    let outside = |shop: &mut Shop, units| {
        shop.outside.insert("1", units);
        let found = shop.judge();
        let its = found.findings.iter().find(|it| matches!(it.kind, Kind::Outside(_)));
        its.map(|it| it.row.clone())
    };
    let mut released = differing(known(State::Sold, 2, ""), known(CANCELLED, 2, ""));
    assert_eq!(outside(&mut released, 2), None);
    let more = "sold, with 2 units that the server lacks";
    assert_eq!(outside(&mut released, 3).as_deref(), Some(more));
    let mut of_another = Shop::of(vec![sold("1", "ann", 2)]);
    of_another.book = vec![sold("1", "ben", 2)];
    assert_eq!(outside(&mut of_another, 2), None);
    let mut agreed = Shop::of(vec![sold("1", "ann", 2)]);
    assert_eq!(outside(&mut agreed, 2).as_deref(), Some("sold"));
}

#[test]
fn a_limit_that_is_reached_is_kept() {
    let mut shop = Shop::of(vec![sold("1", "ann", 2)]);
    shop.limit = 2;
    assert_eq!(shop.judge().above, 0);
}

#[test]
fn orders_of_another_consumer_are_no_rows_yet() {
    let mut shop = Shop::of(vec![sold("1", "ann", 2), sold("2", "ben", 1)]);
    let elsewhere = |shop: &Shop, order, is_note| {
        let mut sale = shop.sale(true);
        live(&mut sale).elsewhere = [order].into();
        sale.rows.get_mut("1").unwrap().is_note = is_note;
        judge(&[sale])
    };
    assert_eq!(elsewhere(&shop, "1", false).verdict(), Verdict::Proved);
    shop.rows.pop();
    let found = elsewhere(&shop, "2", false);
    let doubt = Doubt::Elsewhere { voucher: "7".to_owned(), orders: 1 };
    assert_eq!((found.verdict(), found.doubts.first()), (Verdict::Unproved, Some(&doubt)));
    assert_eq!(elsewhere(&shop, "1", true).doubts.first(), Some(&doubt));
}

/// A voucher without rules: the streams have what was not trimmed, the set all buyers.
#[test]
fn buyers_are_compared_where_there_is_no_book() {
    let of = |edit: &dyn Fn(&mut Sale<'_>)| {
        let shop = Shop::of(vec![sold("1", "ann", 1), sold("2", "ben", 1)]);
        let mut sale = Sale { sale: "", ..shop.sale(true) };
        let its = live(&mut sale);
        its.users = ["ann", "ben"].into();
        (its.is_managed, its.total, its.buyers, its.limit) = (false, None, 2, 1);
        edit(&mut sale);
        let found = judge(&[sale]);
        let words = |it: &Finding| {
            [&it.order, &it.user, &it.server, &it.row].map(|word| word.clone()).join("|")
        };
        found.findings.iter().map(words).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(of(&|_| {}), none);
    assert_eq!(of(&|sale| live(sale).users.extend(["cat"])), ["|cat|sold|missing"]);
    let unread = of(&|sale| {
        live(sale).users.insert("cat");
        live(sale).orders.insert("3", fact("cat", State::Sold));
    });
    assert_eq!(unread, ["3|cat|sold|missing"]);
    // What the streams have of order 1.
    let streams = |user: &'static str, state| {
        of(&move |sale| live(sale).orders.extend([("1", fact(user, state))]))
    };
    assert_eq!(streams("ben", State::Sold), ["1|ben|sold|of user ann"]);
    assert_eq!(streams("ann", CANCELLED), ["1|ann|cancelled|sold"]);
    let no_buyer = |is_trimmed: bool, is_note: bool| {
        of(&move |sale| {
            live(sale).users.remove("ann");
            if is_trimmed {
                live(sale).orders.remove("1");
            }
            sale.rows.get_mut("1").unwrap().is_note = is_note;
        })
    };
    assert_eq!(no_buyer(true, false), ["1|ann|no buyer|sold"]);
    assert_eq!((no_buyer(false, false), no_buyer(true, true)), (vec![], vec![]));
    let released = of(&|sale| {
        live(sale).users.remove("ann");
        live(sale).orders.remove("1");
        sale.rows.get_mut("1").unwrap().fact = fact("ann", CANCELLED);
    });
    assert_eq!(released, none);
}

#[test]
fn lines_give_back_what_a_person_can_deny() {
    let line = |to, units| Line { order: "1", to, units, reference: "p" };
    let late = || line("late", 1);
    let kept = known(State::Sold, 2, "p");
    let gone = known(CANCELLED, 2, "p");
    for (known, lines, is_given_back, is_deniable) in [
        (&kept, vec![], false, false),
        (&kept, vec![line("reduced", 1)], false, false),
        (&kept, vec![line("cancelled", 1)], true, true),
        (&kept, vec![late()], true, true),
        (&kept, vec![late(), line(NOT_REFUNDED, 2)], false, false),
        (&kept, vec![late(), line(SHARED, 0)], false, true),
        (&gone, vec![line("cancelled", 1)], true, false),
        (&gone, vec![line("cancelled", 2)], true, false),
        (&gone, vec![line("cancelled", 3)], true, true),
    ] {
        assert_eq!(crate::judge::is_given_back("p", &lines), is_given_back, "{known:?} {lines:?}");
        assert_eq!(crate::judge::is_deniable(known, &lines), is_deniable, "{known:?} {lines:?}");
    }
    let unpaid = known(State::Sold, 2, "");
    assert!(!crate::judge::is_deniable(&unpaid, &[Line { reference: "", ..late() }]));
}

#[test]
fn a_payment_that_is_another_orders_is_not_due() {
    let line = |to, reference| Line { order: "1", to, units: 2, reference };
    let gone = || Shop::of(vec![("1", "ann", known(CANCELLED, 2, "p"))]);
    let with = |mut shop: Shop, lines: &[Line<'static>]| {
        shop.lines = lines.to_vec();
        kinds(&shop.judge()).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    assert_eq!(with(gone(), &[]), [Kind::Owed]);
    assert_eq!(with(gone(), &[line(SHARED, "p")]), []);
    // A server that has lost the sale tells nothing of its refunds.
    let shop = gone();
    assert_eq!(kinds(&judge(&[Sale { server: Server::Older, ..shop.sale(false) }])), []);
    // Nobody has said yet whose it is.
    let sold = || Shop::of(vec![("1", "ann", known(State::Sold, 2, "q"))]);
    let claimed = line(CLAIMED, "p");
    assert_eq!(with(sold(), &[claimed]), [Kind::Claimed]);
    assert_eq!(with(sold(), &[claimed, line(SHARED, "p")]), []);
    assert_eq!(with(sold(), &[claimed, line(SHARED, "r")]), [Kind::Claimed]);
    let mut used = sold();
    let (reference, outcome, use_) = ("p", Outcome::Late, Use::Other("9"));
    used.payments.push(Payment { reference, outcome, order: "1", use_ });
    let found = used.judge();
    let findings: Vec<_> = found.findings.iter().map(|it| (it.kind, &*it.reference)).collect();
    assert_eq!(findings, [(Kind::Claimed, "p")]);
    assert_eq!(with(used, &[line(SHARED, "p")]), []);
    // Of an order that is kept, what nobody tells stays a doubt.
    for (state, is_doubt) in [(State::Sold, true), (CANCELLED, false)] {
        let mut shop = Shop::of(vec![("1", "ann", known(state, 2, "p"))]);
        (shop.is_untold, shop.lines) = (true, vec![line(SHARED, "p")]);
        assert_eq!(!shop.judge().doubts.is_empty(), is_doubt, "{state:?}");
    }
}

#[test]
fn units_that_were_paid_are_kept_refunded_elsewhere_or_due() {
    let line = |to, units| Line { order: "1", to, units, reference: "p" };
    let kept = || Shop::of(vec![("1", "ann", known(State::Sold, 2, "p"))]);
    let gone = || Shop::of(vec![("1", "ann", known(CANCELLED, 2, "p"))]);
    for (mut shop, paid, lines, is_owed) in [
        (kept(), None, vec![], false),
        (kept(), Some(2), vec![], false),
        (kept(), Some(3), vec![], true),
        (kept(), Some(3), vec![line("reduced", 1)], false),
        (kept(), Some(3), vec![line(ELSEWHERE_PART, 1)], false),
        (kept(), Some(4), vec![line("reduced", 1)], true),
        (kept(), Some(4), vec![line(SHARED, 0)], false),
        (gone(), Some(2), vec![line("cancelled", 2)], false),
        (gone(), Some(2), vec![line(ELSEWHERE, 2)], false),
        (gone(), None, vec![line(ELSEWHERE, 2)], false),
        (gone(), None, vec![line(ELSEWHERE, 1)], true),
        (gone(), Some(3), vec![line("cancelled", 2)], true),
        (gone(), Some(3), vec![line("cancelled", 2), line("reduced", 1)], false),
    ] {
        shop.lines = lines;
        shop.paid.extend(paid.map(|paid| ("1", paid)));
        let found = shop.judge();
        let kinds: Vec<_> = kinds(&found).into_iter().map(|(kind, _)| kind).collect();
        let want = if is_owed { vec![Kind::Owed] } else { vec![] };
        assert_eq!(kinds, want, "{paid:?} {:?}", shop.lines);
        let known = &shop.rows[0].2;
        let is_beyond = crate::judge::beyond(known, &shop.lines, paid) > 0;
        assert!(is_owed || !is_beyond, "{paid:?} {:?}", shop.lines);
    }
    // The rows have another payment than the server: that is another question.
    let mut other = kept();
    other.rows = vec![("1", "ann", known(State::Sold, 2, "q"))];
    other.paid.insert("1", 3);
    let found = other.judge();
    assert!(kinds(&found).iter().all(|(kind, _)| *kind != Kind::Owed), "{found:?}");
}
