//! Stocks, fencing tokens and ids, compared with calculations in numbers that never overflow.

use domain::deduction::{BadStock, Deduction, deduct, return_units};
use domain::lock::fence::{Exhausted, Fence};
use domain::order_id::{Calendar, Count, NoId, Second, after_counter, after_last, date};
use domain::orders::stock_after_release;
use domain::plan::Change;
use domain::sale::{Offer, Policy, Stock, Units, offer};
use domain::slot::Slot;

use crate::input::Input;

/// Units are deducted and released exactly, and no overflow creates units.
pub(crate) fn stocks(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (left, number, now_ms) = (input.number(), input.number(), input.number());
    let policy = Policy { missing_is_sold_out: input.flag(), minus_one_is_unlimited: input.flag() };
    assert_eq!(Units::new(number).map(Units::get), (number > 0).then_some(number));
    let after = i128::from(left) + 1;
    let fence = Fence::parse(&Fence::text(left, input.word()), &[]).expect("a number");
    let token = fence.next(now_ms).map(i128::from);
    let next = (after <= i128::from(i64::MAX)).then(|| after.max(now_ms.into()));
    assert_eq!(token, next.ok_or(Exhausted));
    assert_eq!(Fence::NONE.next(now_ms), Ok(now_ms));

    let Some(units) = Units::new(number) else { return };
    let rest = i128::from(left) - i128::from(number);
    let has_units = rest >= 0;
    let taken = match offer(Stock::Left(left), units, policy) {
        Ok(Offer::Take { left }) => Some(i128::from(left)),
        Ok(Offer::SoldOut) => None,
        Ok(Offer::Unlimited) => {
            assert!(left == -1 && policy.minus_one_is_unlimited);
            None
        }
        Err(_) => panic!("there is a stock"),
    };
    assert_eq!(taken, has_units.then_some(rest));
    let missing = offer(Stock::Missing, units, policy).ok();
    assert_eq!(missing, policy.missing_is_sold_out.then_some(Offer::SoldOut));

    let model = match left {
        -1 => Ok(Deduction::Unlimited),
        i64::MIN..-1 => Err(BadStock::Negative),
        _ if has_units => Ok(Deduction::Take { before: left, left: left - number }),
        _ => Ok(Deduction::TooLittle),
    };
    assert_eq!(deduct(Stock::Left(left), units), model);
    let sum = i128::from(left) + i128::from(number);
    let model = match (left, i64::try_from(sum)) {
        (-1, _) => Ok(None),
        (i64::MIN..-1, _) => Err(BadStock::Negative),
        (_, Ok(after)) => Ok(Some(Change { before: left, after })),
        (_, Err(_)) => Err(BadStock::Overflow),
    };
    assert_eq!(return_units(Stock::Left(left), units), model);
    assert_eq!(deduct(Stock::Missing, units), Ok(Deduction::Missing));
    assert_eq!(return_units(Stock::Missing, units), Ok(None));

    let total = input.number();
    let returned = i128::from(stock_after_release(left, units, total));
    assert!(returned >= left.into() && returned <= sum);
    assert!(returned <= total.max(left).into());
    assert!(returned == sum || returned == total.max(left).into());
}

/// Ids of one counter are unique and grow; an earlier value of the key is either refused or
/// continued. Dates equal those of a calendar that is counted day by day.
pub(crate) fn ids(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let calendar = Calendar { epoch_s: 1_640_995_200, utc_offset_s: input.number() % 50_400 };
    let slot = Slot::of(input.word());
    let (mut now_ms, mut kept) = (1_795_000_000_000_i64, input.flag().then(|| input.number()));
    let mut counter = input.number();
    let mut last: Option<(u64, u64)> = None;
    while !input.is_empty() {
        now_ms = match input.below(8) {
            0 => input.number(),
            step => now_ms.saturating_add(i64::from(step) * 97 - 200),
        };
        let count = match (input.byte(), kept) {
            // About as many ids as are left in the second of the last id.
            (byte @ 0..128, Some(kept)) => {
                (0x3ffff - (kept & 0x3ffff) + i64::from(byte % 3) - 1).min(65_536)
            }
            (byte, _) => i64::from(byte) * 300,
        };
        let Some(count) = Count::new(count) else {
            assert!(!(1..=65_536).contains(&count));
            continue;
        };
        let Ok(second) = Second::at(now_ms, calendar) else {
            let local = i128::from(now_ms.div_euclid(1000)) + i128::from(calendar.utc_offset_s);
            let since = local - i128::from(calendar.epoch_s);
            assert!(!(0..1 << 31).contains(&since), "a second that ids can hold");
            continue;
        };
        check_date(second.day());
        one_by_one(second, slot, &mut kept, count, &mut last);
        let skip = u32::from(count.get().rem_euclid(5) == 4) * 7;
        if let Ok(taken) = after_counter(second, counter, skip, count) {
            let first = number(&taken.first.text()) & 0xffff_ffff;
            assert_eq!(first as i64, counter + 1 + i64::from(skip));
            assert_eq!(taken.kept, first + count.get() as u64 - 1);
            counter = taken.kept as i64;
        }
    }
}

/// The next ids of the cluster form: all are greater than all earlier ids.
fn one_by_one(
    second: Second,
    slot: Slot,
    kept: &mut Option<i64>,
    count: Count,
    last: &mut Option<(u64, u64)>,
) {
    let skip = u32::from(count.get().rem_euclid(5) == 4) * 300_007;
    let taken = match after_last(second, slot, *kept, skip, count) {
        Ok(taken) => taken,
        Err(NoId::Foreign) => {
            assert!(kept.is_some_and(|kept| kept < 0));
            *kept = None;
            return;
        }
        Err(NoId::UsedUp) => {
            assert!(kept.is_some_and(|kept| kept >> 32 >= (1 << 31) - 1));
            *kept = None;
            *last = None;
            return;
        }
        Err(NoId::OutOfTime | NoId::TooFast) => panic!("the second is one that ids can hold"),
    };
    let first = number(&taken.first.text());
    assert_eq!(first >> 18 & 0x3fff, u64::from(slot.number()));
    assert_eq!(taken.kept >> 18, first >> 18, "they all bear one second and slot");
    assert_eq!(taken.kept - first + 1, count.get() as u64);
    assert!(last.is_none_or(|(_, end)| first > end), "an id was given twice");
    *last = Some((first, taken.kept));
    *kept = Some(i64::try_from(taken.kept).expect("63 bits"));
}

fn number(text: &domain::integer::Decimal) -> u64 {
    let text = std::str::from_utf8(text.bytes()).expect("digits");
    text.parse().expect("a number")
}

fn check_date(day: u64) {
    let text = date(day);
    let part = |range: std::ops::Range<usize>| -> u64 {
        std::str::from_utf8(&text[range]).expect("digits").parse().expect("a number")
    };
    let (year, month, of_month) = (part(0..4), part(5..7), part(8..10));
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut model = (1970..year).map(|year| 365 + u64::from(leap(year))).sum::<u64>();
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    model += lengths.iter().take(month as usize - 1).sum::<u64>() + of_month - 1;
    assert_eq!(model, day, "{}", String::from_utf8_lossy(&text));
}
