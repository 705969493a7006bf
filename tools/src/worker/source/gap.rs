//! Entries that were deleted or trimmed before the group read them. Pure: it counts by what the
//! server says of the stream and of the group in the same transaction as the read.
//!
//! The server counts what was ever appended. How many of these the group has passed is known by the
//! worker's last read, if nobody has read since. The server counts that, too, but neither Redis 7.0
//! counts what was trimmed, nor replicas and files of the log what was read: its number may be too
//! small, so it only shows that nothing is missing.

use std::collections::BTreeMap;

use domain::entry_id::EntryId;

use super::reply::{GroupInfo, StreamInfo};
use crate::stream_entry::Which;

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
}

/// The positions in the streams; they outlive connections.
pub type Positions = BTreeMap<Which, Passed>;

/// What a read that asked for `count` entries shows, with the state before it: where the group is
/// now, and what is missing.
pub fn passed(
    before: Option<&Passed>,
    stream: &StreamInfo,
    group: &GroupInfo,
    read: &[EntryId],
    count: u64,
) -> (Passed, Option<Gap>) {
    let (after, number) = (group.last_delivered, read.len() as u64);
    let at = read.last().copied().unwrap_or(after);
    // Trimming begins with the oldest entries: none is missing if a passed one is there.
    let has_all_left = stream.first.is_none_or(|first| first > after);
    let is_same = |before: &&Passed| before.at == after && before.added <= stream.added;
    let own = before.filter(is_same);
    let whole = own.map_or(after, |own| own.whole);
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
    let entries = match base {
        // Counted once all is read, if it can't be now.
        Some(base) => missing(base).filter(|missing| *missing > 0).map(Some),
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
    let whole = if left.is_some() { at } else { whole };
    (Passed { at, number: passed_now, whole, added: stream.added, last: stream.last }, gap)
}

/// What is missing for a group that had to be made again, and begins with the first entry.
pub fn made_again(before: &Passed, stream: Option<&StreamInfo>) -> Option<Gap> {
    let gap = |until, entries| Some(Gap { after: before.at, until, entries });
    match stream {
        Some(stream) if stream.last >= before.last && stream.added >= before.added => {
            let begins = stream.added.saturating_sub(stream.length);
            let missing = before.number.map(|number| begins.saturating_sub(number));
            let is_whole = stream.first.is_some_and(|first| first <= before.at);
            match missing {
                Some(0) => None,
                None if is_whole => None,
                missing => gap(stream.first.unwrap_or(stream.last), missing),
            }
        }
        // The stream itself is another one. What was appended since the last look is not known.
        _ => gap(before.last, None),
    }
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
        Passed { at: id(ms), number: Some(ms), whole: id(ms), added: ms, last: id(ms) }
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
        let (now, gap) = passed(before.as_ref(), &stream, group, &unread, count as u64);
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
        let before = Passed { at: id(3), number: Some(3), whole: id(3), added: 6, last: id(6) };
        let gap = |stream: Option<StreamInfo>| {
            made_again(&before, stream.as_ref()).map(|gap| gap.entries)
        };
        assert_eq!(gap(Some(stream(8, &[2, 3, 4, 5, 6, 7, 8], 0))), None);
        assert_eq!(gap(Some(stream(8, &[4, 5, 6, 7, 8], 0))), None);
        assert_eq!(gap(Some(stream(8, &[7, 8], 0))), Some(Some(3)));
        // The stream was deleted, and there is another one, or none.
        assert_eq!(gap(Some(stream(2, &[1, 2], 0))), Some(None));
        assert_eq!(gap(None), Some(None));
    }
}
