//! The table of entries that ended without a row: what is lost, and what a person has given up.
//! Only appended. And how far the group has read, to see what is missing.

use std::collections::BTreeSet;

use domain::entry_id::EntryId;

use super::statement::{Arg, ROWS_MAX, Statement, Tables};
use super::transaction::Open;
use super::{Fault, Store, now_ms};
use crate::book::Gone;
use crate::ending::{KEPT, Lost, Place};
use crate::intake::gap::Passed;
use crate::order_events::Which;
use crate::source::Source;

pub const LOST_COLUMNS: &str = "stream, group_name, entry_id, cause, until_id, entries, \
                                voucher_id, sale_id, order_id, at_ms";

pub const POSITION_COLUMNS: &str = "stream, group_name, entry_id, last_id, number, added";

impl Store {
    /// Records what is lost, or kept; again without effect.
    pub async fn lose(&self, lost: &[Lost]) -> Result<(), Fault> {
        let mut open = self.begin().await?;
        for lost in lost.chunks(ROWS_MAX) {
            open.execute(&self.tables().insert_lost(lost, now_ms())).await?;
        }
        Ok(open.commit().await?)
    }

    /// Those of these entries that a person has given up, keeping their units.
    pub(super) async fn kept(
        &self,
        open: &mut Open,
        source: &Source,
        places: Gone,
    ) -> Result<Gone, Fault> {
        let mut kept = Gone::new();
        let texts: Vec<_> = places.iter().map(|(_, id)| id.to_string()).collect();
        for texts in texts.chunks(ROWS_MAX) {
            let stream = source.name(Which::Orders);
            let sql = "SELECT entry_id FROM {lost_entries} WHERE stream = ? AND group_name = ? AND \
                       cause = ? AND entry_id IN ";
            let mut found = self.tables().sql(sql, [stream, source.group(), KEPT].map(Arg::Text));
            found.bind_list(texts.iter().map(|entry| Arg::Text(entry)));
            let found = open.texts::<1>(&found).await?;
            let found = found.iter().filter_map(|[id]| EntryId::parse(id.as_bytes()));
            kept.extend(found.map(|id| (Which::Orders, id)));
        }
        Ok(&kept & &places)
    }

    /// Where the group was in a stream when a worker last said so.
    pub async fn position(&self, stream: &str, group: &str) -> Result<Option<Passed>, Fault> {
        let sql = "SELECT entry_id, last_id, [number], [added] FROM {positions} WHERE stream = ? \
                   AND group_name = ?";
        let position = self.tables().sql(sql, [stream, group].map(Arg::Text));
        let found = self.read_texts::<4>(&position).await?;
        Ok(found.first().and_then(|[at, last, number, added]| {
            let [at, last] = [at, last].map(|id| EntryId::parse(id.as_bytes()));
            let at = at?;
            let (number, added) = (number.parse().ok()?, added.parse().ok()?);
            let (number, last) = (Some(number), last?);
            Some(Passed { at, number, whole: at, added, last, settled: None })
        }))
    }

    /// Says where the group is in a stream.
    pub async fn save_position(
        &self,
        stream: &str,
        group: &str,
        passed: &Passed,
    ) -> Result<(), Fault> {
        let Some(number) = passed.number else { return Ok(()) };
        let [number, added] =
            [number, passed.added].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let [at, last] = [passed.at, passed.last].map(|id| id.to_string());
        let texts = [stream, group, &at, &last].map(Arg::Text);
        let args = texts.into_iter().chain([number, added].map(Arg::Int)).collect();
        self.execute(&self.tables().replace("positions", POSITION_COLUMNS, 2, args)).await
    }

    /// Those of these entries from which rows were written. Reads all rows: only asked for entries
    /// that were deleted while they were pending.
    pub async fn with_rows(&self, places: &BTreeSet<Place>) -> Result<BTreeSet<Place>, Fault> {
        let mut found = BTreeSet::new();
        for (which, column) in [
            (Which::Orders, "entry_id"),
            (Which::Confirmed, "confirmed_id"),
            (Which::Released, "released_id"),
        ] {
            let its = places.iter().filter(|(of, _)| *of == which);
            let texts: Vec<_> = its.map(|(_, id)| id.to_string()).collect();
            for texts in texts.chunks(ROWS_MAX) {
                let sql = format!("SELECT {column} FROM {{orders}} WHERE {column} IN ");
                let mut entries = self.tables().sql(&sql, []);
                entries.bind_list(texts.iter().map(|id| Arg::Text(id)));
                let ids = self.read_texts::<1>(&entries).await?;
                let ids = ids.iter().filter_map(|[id]| EntryId::parse(id.as_bytes()));
                found.extend(ids.map(|id| (which, id)));
            }
        }
        Ok(found)
    }
}

impl Tables {
    fn insert_lost<'a>(&self, lost: &'a [Lost], now_ms: i64) -> Statement<'a> {
        let rows = lost.iter().map(|lost| {
            let key = lost.key.as_ref();
            let of = |part: Option<&'a String>| Arg::Text(part.map_or("", String::as_str));
            vec![
                Arg::Text(&lost.stream),
                Arg::Text(&lost.group),
                Arg::Text(&lost.entry),
                Arg::Text(lost.word),
                Arg::Text(&lost.until),
                Arg::MaybeInt(lost.entries.map(|count| i64::try_from(count).unwrap_or(i64::MAX))),
                of(key.map(|key| &key.voucher)),
                of(key.map(|key| &key.sale)),
                of(key.map(|key| &key.order)),
                Arg::Int(now_ms),
            ]
        });
        let mut statement = self.insert_into("lost_entries", LOST_COLUMNS, rows);
        statement.or_nothing("at_ms");
        statement
    }
}
