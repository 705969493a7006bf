//! What is gone of a stream before its group has read it. Pure.

use domain::entry_id::EntryId;

use crate::source::reply::{GroupInfo, StreamInfo};

/// What is gone of the entries that the group has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    Nothing,
    /// So many, from the beginning, and maybe in between.
    Trimmed(u64),
    /// Some, up to this one: of what is deleted in between the server tells only the greatest id.
    Deleted(EntryId),
}

/// What was deleted or trimmed before the group read it.
pub fn gone_unread(stream: &StreamInfo, group: &GroupInfo) -> Gone {
    let last = group.last_delivered;
    if stream.last <= last {
        return Gone::Nothing;
    }
    let are_all_unread = stream.first.is_none_or(|first| first > last);
    let behind = group.read.map(|read| stream.added.saturating_sub(read));
    match behind {
        Some(behind) if are_all_unread && behind > stream.length => {
            Gone::Trimmed(behind.saturating_sub(stream.length))
        }
        _ if stream.deleted > last => Gone::Deleted(stream.deleted),
        _ => Gone::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64) -> EntryId {
        EntryId { ms, seq: 0 }
    }

    #[test]
    fn what_is_gone_unread_is_counted() {
        let stream = |added, length, first: u64, deleted| StreamInfo {
            added,
            length,
            last: id(added),
            first: (length > 0).then_some(id(first)),
            deleted: id(deleted),
        };
        let group = |read: u64| GroupInfo {
            last_delivered: id(read),
            read: Some(read),
            ..GroupInfo::default()
        };
        // Entry n has the id n.
        for (stream, read, gone) in [
            (stream(9, 9, 1, 0), 9, Gone::Nothing),
            (stream(9, 9, 1, 0), 4, Gone::Nothing),
            // What was read is trimmed, or deleted.
            (stream(9, 5, 5, 0), 4, Gone::Nothing),
            (stream(9, 8, 1, 3), 4, Gone::Nothing),
            // Of those that were not read.
            (stream(9, 3, 7, 0), 4, Gone::Trimmed(2)),
            (stream(9, 0, 0, 0), 4, Gone::Trimmed(5)),
            (stream(9, 8, 1, 7), 4, Gone::Deleted(id(7))),
            (stream(9, 4, 5, 7), 4, Gone::Trimmed(1)),
        ] {
            assert_eq!(gone_unread(&stream, &group(read)), gone, "{stream:?} {read}");
        }
    }
}
