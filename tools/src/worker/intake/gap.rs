//! Entries that were deleted or trimmed before the group read them. Pure: it counts by what the
//! server says of the stream and of the group in the same transaction as the read.
//!
//! The server counts what was ever appended. How many of these the group has passed is known by the
//! worker's last read, if nobody has read since. The server counts that, too, but neither Redis 7.0
//! counts what was trimmed, nor replicas and files of the log what was read: its number may be too
//! small, so it only shows that nothing is missing.

use std::collections::BTreeMap;

use domain::entry_id::EntryId;

use crate::order_events::Which;
use crate::source::reply::{GroupInfo, StreamInfo};

/// Entries that no consumer of the group can read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last entry that the group had read before.
    pub after: EntryId,
    /// The first that is there, or the last that ever was.
    pub until: EntryId,
    /// None if the server can't tell.
    pub entries: Option<u64>,
}

/// Where the group was in a stream after this worker's last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub at: EntryId,
    /// How many entries were appended up to there, if that is known.
    pub number: Option<u64>,
    /// Up to where none is missing that is not counted yet.
    pub whole: EntryId,
    /// How many were ever appended at that time.
    pub added: u64,
    /// The last of these.
    pub last: EntryId,
    /// All up to there were acknowledged. None if that is not known.
    pub settled: Option<EntryId>,
}

/// The positions in the streams; they outlive connections.
pub type Positions = BTreeMap<Which, Passed>;

/// What a read that asked for `count` entries shows, with the state before it: where the group is
/// now, and what is missing. `pending` is the first entry that was pending before it, `since` how
/// many entries there are after the place of the last look, if that was counted
/// ([`must_count`]).
pub fn passed(
    before: Option<&Passed>,
    (stream, group): (&StreamInfo, &GroupInfo),
    (pending, since): (Option<EntryId>, Option<u64>),
    read: &[EntryId],
    count: u64,
) -> (Passed, Option<Gap>) {
    let (after, number) = (group.last_delivered, read.len() as u64);
    let at = read.last().copied().unwrap_or(after);
    // Trimming begins with the oldest entries: none is missing if a passed one is there.
    let has_all_left = stream.first.is_none_or(|first| first > after);
    let is_own = |before: &&Passed| before.at == after && before.added <= stream.added;
    let own = before.filter(is_own);
    // Another worker may have passed some that it can't count yet.
    let known = before.filter(|before| before.at <= after && is_same(before, stream));
    let whole = known.map_or(after, |before| before.whole);
    let base = own.and_then(|own| own.number).or_else(|| {
        // A group that has read nothing knows where it began.
        let begin = group.read.or(stream.added.checked_sub(stream.length));
        (after == EntryId::default()).then_some(begin).flatten()
    });
    let left = match (number < count, has_all_left) {
        (true, _) => Some(number),
        (_, true) => Some(stream.length),
        _ => None,
    };
    let missing =
        |base: u64| left.map(|left| stream.added.saturating_sub(base).saturating_sub(left));
    let is_deleted = stream.deleted > after && (number < count || stream.deleted <= at);
    let uncounted = known.and_then(|before| Some((before.number?, since?)));
    let has_uncounted =
        uncounted.is_some_and(|(number, since)| stream.added.saturating_sub(number) > since);
    let entries = match base {
        // Counted once all is read, if it can't be now.
        Some(base) => missing(base).filter(|missing| *missing > 0).map(Some),
        None if has_uncounted => Some(None),
        None if after >= stream.last => None,
        None if group.read.and_then(missing) == Some(0) => None,
        None => (has_all_left || is_deleted).then_some(None),
    };
    let passed_now = match left {
        Some(left) => stream.added.checked_sub(left).map(|passed| passed.saturating_add(number)),
        None => base.map(|base| base.saturating_add(number)),
    };
    let until = stream.first.filter(|first| *first > after).unwrap_or(stream.last);
    let gap = entries.map(|entries| Gap { after: whole, until, entries });
    let whole = if left.is_some() || has_uncounted { at } else { whole };
    let settled = pending.into_iter().chain(read.first().copied()).min().map_or(at, before_it);
    let (added, last, settled) = (stream.added, stream.last, Some(settled));
    (Passed { at, number: passed_now, whole, added, last, settled }, gap)
}

/// Did this worker pass some that it could not count yet, before another one read? What was deleted
/// among them is only known if it is counted now.
pub fn must_count(before: &Passed, stream: &StreamInfo, group: &GroupInfo) -> bool {
    before.whole < before.at && before.at != group.last_delivered && stream.deleted > before.whole
}

/// The least id that is greater.
fn after_it(id: EntryId) -> EntryId {
    match id.seq.checked_add(1) {
        Some(seq) => EntryId { seq, ..id },
        None => EntryId { ms: id.ms.saturating_add(1), seq: 0 },
    }
}

/// The greatest id that is less.
fn before_it(id: EntryId) -> EntryId {
    match id.seq.checked_sub(1) {
        Some(seq) => EntryId { seq, ..id },
        None => EntryId { ms: id.ms.saturating_sub(1), seq: u64::MAX },
    }
}

/// Where a group is that was just made, and begins with the first entry: what is not there any more
/// is none that it has to read.
pub fn begun(stream: &StreamInfo) -> Passed {
    let (at, number) = (EntryId::default(), stream.added.checked_sub(stream.length));
    let (added, last) = (stream.added, stream.last);
    Passed { at, number, whole: at, added, last, settled: Some(at) }
}

/// What is missing for a group that had to be made again, before the greatest id `now`. What was
/// pending went with the group: it is read again, if it is there. `left` is how many entries there
/// are after the last that was read, if they were counted: else some of these may be missing.
pub fn made_again(
    before: &Passed,
    stream: &StreamInfo,
    left: Option<u64>,
    now: EntryId,
) -> Option<Gap> {
    if !is_same(before, stream) {
        // What was appended since the last look is not known, nor whether it was written.
        let (after, until) = (before.settled.unwrap_or_default(), stream.first.unwrap_or(now));
        return Some(Gap { after, until, entries: None });
    }
    let is_there = |id| stream.first.is_some_and(|first| first <= id);
    let settled = before.settled.unwrap_or(before.at);
    let has_lost_pending =
        settled < before.at && (stream.deleted > settled || !is_there(after_it(settled)));
    let is_counted = left.is_some() || stream.deleted <= before.at;
    let left = left.unwrap_or(stream.length);
    let missing = before
        .number
        .map(|number| stream.added.saturating_sub(number).saturating_sub(left))
        .filter(|missing| is_counted || *missing > 0);
    let (after, entries) = match missing {
        _ if has_lost_pending => (settled, None),
        Some(0) => return None,
        None if is_there(before.at) && stream.deleted <= before.at => return None,
        missing => (before.at, missing),
    };
    let until = match stream.first {
        Some(first) if first > before.at || missing == Some(0) => first,
        // Some of those that were not read yet.
        _ => stream.last,
    };
    Some(Gap { after, until: until.max(before.at), entries })
}

/// Is it the stream that was there at the last look? Another one of the same name has lost all that
/// was in the first, and counts from 0.
fn is_same(before: &Passed, stream: &StreamInfo) -> bool {
    let begins = stream.added.saturating_sub(stream.length);
    let has_older = stream.first.is_some_and(|first| first <= before.last);
    stream.last >= before.last
        && stream.added >= before.added
        && (has_older || begins >= before.added)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn id(ms: u64) -> EntryId {
        EntryId { ms, seq: 0 }
    }

    /// Ids are numbers from 1 on; `has` are those that are there.
    fn stream(added: u64, has: &[u64], deleted: u64) -> StreamInfo {
        let first = has.first().map(|first| id(*first));
        let length = has.len() as u64;
        StreamInfo { length, added, last: id(added), first, deleted: id(deleted) }
    }

    fn group(at: u64, read: Option<u64>) -> GroupInfo {
        GroupInfo { last_delivered: id(at), read, ..GroupInfo::default() }
    }

    fn at(ms: u64) -> Passed {
        let settled = Some(id(ms));
        Passed { at: id(ms), number: Some(ms), whole: id(ms), added: ms, last: id(ms), settled }
    }

    /// Reads up to `count` of the entries that are there, and returns the gap.
    fn read(
        before: Option<Passed>,
        (added, has, deleted): (u64, &[u64], u64),
        group: &GroupInfo,
        count: usize,
    ) -> (Passed, Option<Option<u64>>) {
        let unread = has.iter().map(|ms| id(*ms)).filter(|it| *it > group.last_delivered);
        let unread: Vec<_> = unread.take(count).collect();
        let stream = stream(added, has, deleted);
        let (now, gap) =
            passed(before.as_ref(), (&stream, group), (None, None), &unread, count as u64);
        (now, gap.map(|gap| gap.entries))
    }

    #[test]
    fn what_was_trimmed_before_it_was_read_is_counted() {
        let (now, gap) = read(None, (8, &[6, 7, 8], 0), &group(0, Some(0)), 100);
        assert_eq!((now.at, now.number, gap), (id(8), Some(8), Some(Some(5))));
        // Nothing is told again, also where the server has not counted it as passed.
        let (now, gap) = read(Some(now), (9, &[9], 0), &group(8, Some(3)), 100);
        assert_eq!((now.number, gap), (Some(9), None));
        // In pieces; the second one is not missing.
        let two = Some(at(2));
        let (now, gap) = read(two, (8, &[6, 7, 8], 0), &group(2, Some(2)), 2);
        assert_eq!((now.at, now.number, gap), (id(7), Some(7), Some(Some(3))));
        assert_eq!(read(Some(now), (8, &[6, 7, 8], 0), &group(7, None), 2).1, None);
        // All of it.
        let (now, gap) = read(two, (8, &[], 0), &group(2, Some(2)), 2);
        assert_eq!((now.at, now.number, gap), (id(2), Some(8), Some(Some(6))));
        assert_eq!(read(Some(now), (8, &[], 0), &group(2, Some(2)), 2).1, None);
    }

    #[test]
    fn what_was_passed_may_be_trimmed() {
        for has in [&[1, 2, 3, 4][..], &[2, 3, 4], &[3, 4], &[4]] {
            for count in [1, 2, 100] {
                let gap = |before| read(before, (4, has, 0), &group(2, Some(2)), count).1;
                let is_missing = has.len() == 1;
                assert_eq!(gap(Some(at(2))), is_missing.then_some(Some(1)), "{has:?} {count}");
                assert_eq!(gap(None), is_missing.then_some(None), "{has:?} {count}");
            }
        }
        // The server has failed over, and its count is too small.
        assert_eq!(read(None, (4, &[1, 2, 3, 4], 0), &group(2, Some(0)), 100).1, None);
        assert_eq!(read(None, (4, &[], 0), &group(4, Some(0)), 100).1, None);
        assert_eq!(read(None, (4, &[3, 4], 0), &group(2, Some(0)), 100).1, Some(None));
        // A group that begins with what is there.
        assert_eq!(read(None, (4, &[3, 4], 0), &group(0, None), 100).1, None);
        assert_eq!(read(None, (4, &[], 0), &group(4, None), 100).1, None);
    }

    #[test]
    fn what_was_deleted_is_counted_once_all_is_read() {
        let has = [1, 2, 4, 6, 7];
        let (now, gap) = read(Some(at(2)), (7, &has, 5), &group(2, Some(2)), 1);
        assert_eq!((now.at, gap), (id(4), None));
        let (now, gap) = read(Some(now), (7, &has, 5), &group(4, None), 1);
        assert_eq!((now.at, gap), (id(6), None));
        let (now, gap) = read(Some(now), (7, &has, 5), &group(6, None), 100);
        assert_eq!((now.number, gap), (Some(7), Some(Some(2))));
        // Another worker has read, and the server does not know how far that is.
        assert_eq!(read(None, (7, &has, 5), &group(4, None), 100).1, Some(None));
        assert_eq!(read(None, (7, &has, 5), &group(4, None), 1).1, Some(None));
        assert_eq!(read(None, (7, &has, 5), &group(6, None), 100).1, None);
    }

    #[test]
    fn a_group_that_is_made_again_knows_what_was_passed() {
        let before = Passed { at: id(3), added: 6, last: id(6), ..at(3) };
        let gap_of = |settled: u64, left, stream: StreamInfo| {
            let settled = before_it(id(settled + 1));
            let before = Passed { settled: Some(settled), ..before };
            let gap = made_again(&before, &stream, left, id(99))?;
            Some((gap.after.ms, gap.until.ms, gap.entries))
        };
        let gap = |settled, stream: StreamInfo| {
            let left = stream.length.min(stream.added.saturating_sub(3));
            gap_of(settled, Some(left), stream)
        };
        assert_eq!(gap(3, stream(8, &[2, 3, 4, 5, 6, 7, 8], 0)), None);
        assert_eq!(gap(3, stream(8, &[4, 5, 6, 7, 8], 0)), None);
        assert_eq!(gap(3, stream(8, &[7, 8], 0)), Some((3, 7, Some(3))));
        assert_eq!(gap(3, stream(8, &[], 0)), Some((3, 8, Some(5))));
        assert_eq!(gap_of(3, Some(3), stream(8, &[2, 3, 4, 6, 8], 7)), Some((3, 8, Some(2))));
        // Too many are left to be counted.
        assert_eq!(gap_of(3, None, stream(8, &[4, 6, 8], 7)), Some((3, 4, Some(2))));
        assert_eq!(gap_of(3, None, stream(8, &[1, 2, 3, 4, 6, 8], 7)), Some((3, 8, None)));
        assert_eq!(gap_of(3, None, stream(8, &[1, 3, 4, 5, 6, 7, 8], 2)), None);
        // What was pending is there, or is not.
        assert_eq!(gap(1, stream(8, &[2, 3, 4, 5, 6, 7, 8], 0)), None);
        assert_eq!(gap(1, stream(8, &[3, 4, 5, 6, 7, 8], 0)), Some((1, 3, None)));
        assert_eq!(gap(1, stream(8, &[4, 5, 6, 7, 8], 0)), Some((1, 4, None)));
        assert_eq!(gap(1, stream(8, &[2, 4, 5, 6, 7, 8], 3)), Some((1, 3, None)));
        // The stream was deleted, and there is another one, or an empty one.
        assert_eq!(gap(2, stream(2, &[1, 2], 0)), Some((2, 1, None)));
        assert_eq!(gap(2, stream(0, &[], 0)), Some((2, 99, None)));
        let other = StreamInfo { first: Some(id(11)), last: id(20), ..stream(9, &[1; 9], 0) };
        assert_eq!(gap(2, other), Some((2, 11, None)));
        assert_eq!(gap(3, StreamInfo { length: 3, ..other }), Some((3, 11, Some(3))));
    }

    #[test]
    fn what_one_worker_passed_is_counted_when_another_has_read() {
        // Entry 3 was deleted, and this worker read up to 4, one at a time.
        let before =
            Passed { at: id(4), number: Some(3), whole: id(2), added: 8, last: id(8), ..at(4) };
        let (stream, group) = (stream(8, &[1, 2, 4, 5, 6, 7, 8], 3), group(6, None));
        assert!(must_count(&before, &stream, &group));
        let look = |since| {
            let (now, gap) = passed(Some(&before), (&stream, &group), (None, since), &[id(7)], 1);
            (now.whole, gap.map(|gap| (gap.after, gap.entries)))
        };
        assert_eq!(look(Some(4)), (id(7), Some((id(2), None))));
        assert_eq!(look(Some(5)), (id(2), None));
        assert_eq!(look(None), (id(2), None));
    }

    #[test]
    fn what_is_pending_is_not_settled() {
        let stream = stream(8, &[4, 5, 6, 7, 8], 0);
        let settled = |pending: Option<u64>, read: &[EntryId]| {
            let group = group(5, Some(5));
            passed(None, (&stream, &group), (pending.map(id), None), read, 2).0.settled
        };
        let before = |ms| Some(EntryId { ms, seq: u64::MAX });
        assert_eq!(settled(None, &[]), Some(id(5)));
        assert_eq!(settled(None, &[id(6), id(7)]), before(5));
        assert_eq!(settled(Some(4), &[id(6), id(7)]), before(3));
        assert_eq!(before_it(EntryId { ms: 2, seq: 3 }), EntryId { ms: 2, seq: 2 });
    }
}
