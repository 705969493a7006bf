//! The join: every order of reading, any repetition, any subset, of the entries of two branches of
//! a server's history, gives the account of the set that was read; and no entry takes a conflict
//! back.

use crate::server::Voucher;
use domain::account::Account;
use domain::conflicts::Conflicts;
use domain::references::Others;
use domain::rows::{Report, Unmanaged};
use domain::rules::Meant;
use std::collections::HashSet;

type Order = Account<u8, u8>;
type Entries = Vec<(u8, Report<u8>)>;

const COMMANDS: u8 = 9;

/// Command number `at` of one order of two units.
fn run(voucher: &mut Voucher, at: u8) -> Vec<Report<u8>> {
    let me = (0, 0, Meant::Any);
    let said = match at {
        0 => voucher.buy(0, 0, 2),
        1 => voucher.expire(0),
        2 => voucher.cancel(me, None, 0, (None, false)).1,
        3 => voucher.cancel(me, None, 1, (None, false)).1,
        4 => voucher.cancel(me, None, 0, (Some(0), false)).1,
        5 => voucher.confirm(me, Some(0), Some(2)).1,
        6 => voucher.confirm(me, Some(0), None).1,
        7 => voucher.confirm(me, Some(1), Some(1)).1,
        _ => voucher.confirm(me, None, None).1,
    };
    said.into_iter().map(|(_, report, _)| report).collect()
}

/// Every history of so many commands, with its entries; `at` each of its moments.
fn histories(
    voucher: &Voucher,
    entries: &mut Entries,
    left: usize,
    at: &mut impl FnMut(&Voucher, &Entries),
) {
    at(voucher, entries);
    if left == 0 {
        return;
    }
    for command in 0..COMMANDS {
        let (mut next, count) = (voucher.clone(), entries.len());
        for report in run(&mut next, command) {
            entries.push((entries.len() as u8, report));
        }
        if next != *voucher {
            histories(&next, entries, left - 1, at);
        }
        entries.truncate(count);
    }
}

fn account(entries: &Entries, mask: usize) -> Order {
    let mut account = Order::default();
    for (at, (id, report)) in entries.iter().enumerate() {
        if mask >> at & 1 == 1 {
            account.read(Some(*id), report);
        }
    }
    account
}

/// Without (h), which a release that is read later takes back: of an order that was reduced before
/// its payment was told, the release may be read after the confirmation.
fn conflicts(account: &Order) -> Conflicts {
    account.conflicts(|_| Others::default()).without(Conflicts::PAID_TOO_FEW)
}

/// Adds each entry to each subset. By induction that is every order and every repetition.
fn is_join(entries: &Entries) -> bool {
    let all: Vec<_> = (0..1 << entries.len()).map(|mask| account(entries, mask)).collect();
    all.iter().enumerate().all(|(mask, before)| {
        entries.iter().enumerate().all(|(at, (id, report))| {
            let mut after = before.clone();
            after.read(Some(*id), report);
            let kept = conflicts(before).without(conflicts(&after)).is_none();
            let grows = before.payments.iter().all(|(reference, payment)| {
                let after = after.payments.get(reference);
                after.is_some_and(|after| payment.released.without(&after.released).is_empty())
            });
            after == all[mask | 1 << at] && kept && grows
        })
    })
}

#[test]
fn a_row_is_a_join_of_what_entries_say() {
    let depths = if std::env::var_os("SOAK").is_some() { (5, 3) } else { (4, 2) };
    let (mut seen, mut courses, mut orders) = (HashSet::new(), 0_u64, 0_u64);
    for is_held in [true, false] {
        let begin = Voucher::new(2, is_held);
        let mut moments = Vec::new();
        histories(&begin, &mut Vec::new(), depths.0, &mut |voucher, entries| {
            moments.push((voucher.clone(), entries.clone()));
        });
        // A loss goes back to any moment before; the entries of both branches may be read.
        for (voucher, entries) in &moments {
            let starts = moments.iter().filter(|(_, lost)| {
                lost.len() > entries.len() && lost[..entries.len()] == entries[..]
            });
            for lost in starts.map(|(_, lost)| lost).chain([entries]) {
                let mut all = lost.clone();
                let depth = if lost.len() == entries.len() { 0 } else { depths.1 };
                histories(voucher, &mut all, depth, &mut |_, all| {
                    courses += 1;
                    if all.len() > 7 || !seen.insert(all.clone()) {
                        return;
                    }
                    orders += (1..=all.len() as u64).product::<u64>();
                    assert!(is_join(all), "{all:?}");
                });
            }
        }
    }
    println!("join: {courses} courses, {} sets of entries, {orders} orders", seen.len());
    assert!(seen.len() > 1000);
}

#[test]
fn without_a_loss_there_is_no_conflict() {
    let mut courses = 0_u64;
    for is_held in [true, false] {
        histories(&Voucher::new(2, is_held), &mut Vec::new(), 5, &mut |_, entries| {
            courses += 1;
            for mask in 0..1 << entries.len() {
                let account = account(entries, mask);
                let is_all = mask + 1 == 1 << entries.len();
                let found = match is_all {
                    true => account.conflicts(|_| Others::default()),
                    false => conflicts(&account),
                };
                assert!(found.is_none(), "{} {entries:?}", found.letters());
            }
        });
    }
    println!("without a loss: {courses} courses");
}

#[test]
fn an_unmanaged_order_lives_by_its_entries_in_any_order() {
    // Accepted, rejected by its entry, accepted again, cancelled.
    let read = |row: &mut Unmanaged<u8>, at: usize| match at {
        0 => row.accept(1, 1),
        1 => row.release(2, Some(1), 1),
        2 => row.accept(3, 1),
        _ => row.release(4, None, 1),
    };
    for mask in 0_usize..16 {
        let mut row = Unmanaged::default();
        (0..4).filter(|at| mask >> at & 1 == 1).for_each(|at| read(&mut row, at));
        let has = |at: usize| mask >> at & 1 == 1;
        let accepted = u8::from(has(0) || has(1)) + u8::from(has(2));
        let released = u8::from(has(1)) + u8::from(has(3));
        assert_eq!(row.is_live(), accepted > released, "{mask:b}");
        for at in 0..4 {
            let mut again = row.clone();
            read(&mut again, at);
            if has(at) {
                assert_eq!(again, row);
            }
        }
    }
}
