//! Ids compared with tables, and a million of them at once.

use super::{
    COUNTER_MAX, Calendar, Count, Id, NoId, Second, Slot, TakenIds, after_counter, after_last,
    check_pace, date, skip_more,
};

const UTC: Calendar = Calendar { epoch_s: 1_640_995_200, utc_offset_s: 0 };

fn second(since_epoch: u64) -> Second {
    let now_ms = (UTC.epoch_s + i64::try_from(since_epoch).unwrap()) * 1000;
    Second::at(now_ms, UTC).unwrap()
}

fn count(count: i64) -> Count {
    Count::new(count).unwrap()
}

#[test]
fn counts_are_from_1_to_65536() {
    assert_eq!(Count::new(1), Some(Count::ONE));
    assert_eq!(Count::new(65_536).map(Count::get), Some(65_536));
    for wrong in [0, -1, 65_537, i64::MIN, i64::MAX] {
        assert_eq!(Count::new(wrong), None);
    }
}

#[test]
fn days_have_dates() {
    // The output of `date -u -d <date> +%s`, divided by 86400.
    let rows = [
        (0, "1970:01:01"),
        (30, "1970:01:31"),
        (58, "1970:02:28"),
        (59, "1970:03:01"),
        (789, "1972:02:29"),
        (790, "1972:03:01"),
        (10_956, "1999:12:31"),
        (11_016, "2000:02:29"),
        (11_017, "2000:03:01"),
        (18_993, "2022:01:01"),
        (19_723, "2024:01:01"),
        (19_782, "2024:02:29"),
        (20_088, "2024:12:31"),
        (20_778, "2026:11:21"),
        (47_540, "2100:02:28"),
        (47_541, "2100:03:01"),
        (2_932_896, "9999:12:31"),
    ];
    for (day, want) in rows {
        assert_eq!(String::from_utf8_lossy(&date(day)), want, "{day}");
    }
}

#[test]
fn dates_follow_each_other_as_the_calendar_says() {
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for days in 0..2_932_897 {
        let want = format!("{year:04}:{month:02}:{day:02}");
        assert_eq!(date(days), want.as_bytes(), "{days}");
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}

#[test]
fn the_clock_gives_second_and_day() {
    let at = |now_ms, epoch_s, utc_offset_s| {
        Second::at(now_ms, Calendar { epoch_s, utc_offset_s })
            .map(|second| (second.since_epoch, second.day()))
    };
    let last = (1 << 31) - 1;
    let rows = [
        (1_640_995_200_000, UTC.epoch_s, 0, Ok((0, 18_993))),
        (1_640_995_200_999, UTC.epoch_s, 0, Ok((0, 18_993))),
        (1_640_995_199_999, UTC.epoch_s, 0, Err(NoId::OutOfTime)),
        (1_640_995_199_999, UTC.epoch_s, 1, Ok((0, 18_993))),
        (1_640_995_200_000, UTC.epoch_s, -1, Err(NoId::OutOfTime)),
        // Midnight in Shanghai is 16:00 the day before in London.
        (1_795_276_799_999, UTC.epoch_s, 28_800, Ok((154_310_399, 20_778))),
        (1_795_276_800_000, UTC.epoch_s, 28_800, Ok((154_310_400, 20_779))),
        (1_795_276_800_000, UTC.epoch_s, 0, Ok((154_281_600, 20_778))),
        ((UTC.epoch_s + last) * 1000 + 999, UTC.epoch_s, 0, Ok((2_147_483_647, 43_848))),
        ((UTC.epoch_s + last + 1) * 1000, UTC.epoch_s, 0, Err(NoId::OutOfTime)),
        (0, 0, 0, Ok((0, 0))),
        (-1, 0, 0, Err(NoId::OutOfTime)),
        (i64::MAX, 0, 86_400, Err(NoId::OutOfTime)),
        (i64::MIN, 0, -86_400, Err(NoId::OutOfTime)),
    ];
    for (now_ms, epoch_s, offset_s, want) in rows {
        assert_eq!(at(now_ms, epoch_s, offset_s), want, "{now_ms} {epoch_s} {offset_s}");
    }
}

#[test]
fn the_counter_stands_below_the_second() {
    let taken = |first, kept| Ok(TakenIds { first: Id(first), kept, borrowed_s: 0 });
    let rows = [
        (0, 0, 1, taken(1, 1)),
        (154_281_600, 0, 1, taken((154_281_600 << 32) + 1, 1)),
        (1, 41, 1, taken((1 << 32) + 42, 42)),
        (1, 41, 10, taken((1 << 32) + 42, 51)),
        (1, 0xffff_fffe, 1, taken((1 << 32) + 0xffff_ffff, 0xffff_ffff)),
        (1, 0xffff_fffe, 2, Err(NoId::UsedUp)),
        (1, 0xffff_ffff, 1, Err(NoId::UsedUp)),
        (1, i64::MAX, 65_536, Err(NoId::UsedUp)),
        (1, -1, 1, Err(NoId::Foreign)),
        (1, i64::MIN, 1, Err(NoId::Foreign)),
    ];
    for (since_epoch, counter, n, want) in rows {
        assert_eq!(after_counter(second(since_epoch), counter, 0, count(n)), want, "{counter} {n}");
    }
    assert_eq!(
        after_counter(second((1 << 31) - 1), 0xffff_fffe, 0, Count::ONE).unwrap().first.0,
        i64::MAX as u64
    );
}

#[test]
fn a_second_of_a_slot_lends_from_the_next() {
    let slot = Slot::of(b"7");
    let id =
        |seconds: u64, sequence: u64| (seconds << 32) | (u64::from(slot.number()) << 18) | sequence;
    let kept = |seconds, sequence| Some(id(seconds, sequence) as i64);
    let taken = |seconds, sequence, n: u64, borrowed_s| {
        let first = id(seconds, sequence);
        Ok(TakenIds { first: Id(first), kept: first + n - 1, borrowed_s })
    };
    let last = (1 << 31) - 1;
    let rows = [
        (100, None, 1, taken(100, 0, 1, 0)),
        (100, None, 65_536, taken(100, 0, 65_536, 0)),
        (100, kept(99, 7), 1, taken(100, 0, 1, 0)),
        (100, kept(100, 7), 1, taken(100, 8, 1, 0)),
        (100, kept(100, 7), 3, taken(100, 8, 3, 0)),
        // The clock was set back.
        (100, kept(105, 7), 1, taken(105, 8, 1, 5)),
        // The sequence is used up, or a block does not fit the rest of it.
        (100, kept(100, 262_142), 1, taken(100, 262_143, 1, 0)),
        (100, kept(100, 262_143), 1, taken(101, 0, 1, 1)),
        (100, kept(100, 196_607), 65_536, taken(100, 196_608, 65_536, 0)),
        (100, kept(100, 196_608), 65_536, taken(101, 0, 65_536, 1)),
        (100, kept(last, 262_143), 1, Err(NoId::UsedUp)),
        (100, Some(0), 1, taken(100, 0, 1, 0)),
        (100, Some(-1), 1, Err(NoId::Foreign)),
        (100, Some(i64::MIN), 1, Err(NoId::Foreign)),
    ];
    for (now, last, n, want) in rows {
        assert_eq!(after_last(second(now), slot, last, 0, count(n)), want, "{now} {last:?} {n}");
    }
}

#[test]
fn ids_that_are_not_needed_are_not_taken() {
    let (now, slot) = (second(100), Slot::of(b"7"));
    for used in [1, 2, 9, 10] {
        let unused = u32::try_from(10 - used).unwrap();
        let all = after_counter(now, 5, 0, count(10)).unwrap();
        assert_eq!(all.without(unused), after_counter(now, 5, 0, count(used)).unwrap());
        let all = after_last(now, slot, Some(0), 0, count(10)).unwrap();
        let some = all.without(unused);
        assert_eq!(some, after_last(now, slot, Some(0), 0, count(used)).unwrap());
        let last = some.first.after(u32::try_from(used).unwrap() - 1);
        assert_eq!(last.text().bytes(), some.kept.to_string().as_bytes());
    }
}

#[test]
fn a_million_ids_differ_and_grow_whatever_the_clock_does() {
    let mut random = fastrand::Rng::with_seed(5);
    let slots = [Slot::of(b"7"), Slot::of(b"8"), Slot::of(b"9")];
    let mut lasts = [None; 3];
    let mut all = Vec::new();
    let mut now = 1000;
    while all.len() < 1_000_000 {
        now = if random.u8(..) == 0 { random.u64(900..1100) } else { now + random.u64(..2) };
        let which = random.usize(..3);
        let n = if random.bool() { 1 } else { random.i64(1..=Count::MAX.min(500)) };
        let taken = after_last(second(now), slots[which], lasts[which], 0, count(n)).unwrap();
        let last = i64::try_from(taken.kept).unwrap();
        assert_eq!(taken.kept - taken.first.0 + 1, count(n).ids());
        assert!(lasts[which].is_none_or(|before| before < taken.first.0 as i64));
        assert!((taken.kept >> 18) & 0x3fff == u64::from(slots[which].number()));
        lasts[which] = Some(last);
        all.extend(taken.first.0..=taken.kept);
    }
    let made = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), made);
}

#[test]
fn a_million_ids_of_one_second_fit_four() {
    let slot = Slot::of(b"7");
    let mut last = None;
    for index in 0..1_000_000u64 {
        let taken = after_last(second(50), slot, last, 0, Count::ONE).unwrap();
        assert_eq!(taken.borrowed_s, index >> 18);
        assert_eq!(taken.first.0 & 0x3_ffff, index & 0x3_ffff);
        last = Some(i64::try_from(taken.kept).unwrap());
    }
}

#[test]
fn ids_that_are_left_out_are_passed_over() {
    let (now, slot) = (second(100), Slot::of(b"7"));
    for skip in [0, 1, 5, 65_536] {
        let taken = after_counter(now, 5, skip, count(10)).unwrap();
        assert_eq!(taken.kept, 5 + u64::from(skip) + 10);
        assert_eq!(taken.first.0, (100 << 32) | (6 + u64::from(skip)));
        let plain = after_last(now, slot, None, 0, count(10)).unwrap();
        let taken = after_last(now, slot, None, skip, count(10)).unwrap();
        assert_eq!(taken.first.0, plain.first.0 + u64::from(skip));
        assert_eq!(taken.kept, plain.kept + u64::from(skip));
    }
    assert_eq!(after_counter(now, 5, u32::MAX, Count::ONE), Err(NoId::UsedUp));
    // Skipped ids may reach into the slot's next second; a block that doesn't fit the rest of a
    // second begins in the next one.
    let second_of = |taken: &TakenIds| (taken.first.0 >> 32, taken.first.0 & 0x3_ffff);
    let taken = after_last(now, slot, None, 262_144 + 9, Count::ONE).unwrap();
    assert_eq!((second_of(&taken), taken.borrowed_s), ((101, 9), 1));
    let taken = after_last(now, slot, None, 262_140, count(10)).unwrap();
    assert_eq!(second_of(&taken), (101, 0));
    // Any run of used ids is passed in few attempts.
    let mut skips = std::iter::successors(Some(0), |skip| skip_more(*skip));
    assert_eq!(skips.by_ref().take(4).collect::<Vec<_>>(), [0, 1, 3, 7]);
    assert_eq!(skips.last(), Some(131_071));
}

/// SECKILL.NEXTID always leaves part of a day's ids for orders.
#[test]
fn a_day_has_a_pace() {
    let taken = |kept, borrowed_s| TakenIds { first: Id(0), kept, borrowed_s };
    let midnight = second(3 * 86_400);
    let rows = [
        (0, 0, Ok(())),
        (0, 1 << 24, Ok(())),
        (0, (1 << 24) + 1, Err(NoId::TooFast)),
        (1, (1 << 24) + 40_000, Ok(())),
        (1, (1 << 24) + 40_001, Err(NoId::TooFast)),
        (86_399, (1 << 24) + 86_399 * 40_000, Ok(())),
        (86_399, (1 << 24) + 86_399 * 40_000 + 1, Err(NoId::TooFast)),
    ];
    for (seconds, kept, want) in rows {
        let now = second(midnight.since_epoch + seconds);
        assert_eq!(check_pace(now, false, &taken(kept, 0)), want, "{seconds} {kept}");
    }
    let most = (1 << 24) + 86_400 * 40_000;
    assert!(COUNTER_MAX - most > 800_000_000, "for orders");
    assert_eq!(check_pace(midnight, true, &taken(u64::MAX, 1 << 28)), Ok(()));
    assert_eq!(check_pace(midnight, true, &taken(0, (1 << 28) + 1)), Err(NoId::TooFast));
}
