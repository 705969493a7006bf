//! What the tables know of the consumer groups whose entries they have, and of themselves.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tracing::warn;

use super::Fault;
use super::columns::GROUP_COLUMNS;
use super::database::Store;
use super::now_ms;
use super::transaction::Open;
use crate::sql::{Arg, Values, number};
use crate::steps::{Change, Step};

const READ: &str = "pairing_id, run_id, [deleted], unchecked, [at_ms]";

/// Each write of a group is later than the one before, whatever the clock says.
const LATER: &str = "at_ms = CASE WHEN at_ms < ? THEN ? ELSE at_ms + 1 END";

/// The consumer group of a stream of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The id that the tables and the server have in common; of a first start that has not ended,
    /// what the server is to get.
    pub pairing_id: String,
    /// The run of the server that was last read.
    pub run_id: String,
    /// Entries that were deleted unread, at least.
    pub deleted: i64,
    /// Why tables and server may differ; None once a check has found that they don't.
    pub unchecked: Option<String>,
    /// When the row was last written; later with each write, whatever the clock says.
    pub at_ms: i64,
}

/// Why rows are not written without these statements.
pub fn lacking(has_none: bool, events: &str) -> String {
    let given = if has_none { "no --statements" } else { "the file of --statements" };
    format!(
        "{given}, but rows were written with statements for {events}: give them by --statements"
    )
}

impl Store {
    pub async fn group(&self, stream: &str, group: &str) -> Result<Option<Group>, Fault> {
        let mut select = self.select(READ, "groups", "", "stream = ");
        select.bind(Arg::Text(stream)).push(" AND group_name = ").bind(Arg::Text(group));
        let mut open = self.begin_reading().await?;
        let read = |values: &mut Values<'_>| {
            Ok(Group {
                pairing_id: values.text()?.to_owned(),
                run_id: values.text()?.to_owned(),
                deleted: number(values.text()?)?,
                unchecked: values.maybe_text()?.map(str::to_owned),
                at_ms: number(values.text()?)?,
            })
        };
        let row = open.rows(&select, read).await?.pop();
        open.commit().await?;
        Ok(row)
    }

    /// Writes a group, unless there is one.
    async fn add_group(&self, stream: &str, name: &str, group: &Group) -> Result<(), Fault> {
        let args = vec![
            Arg::Text(stream),
            Arg::Text(name),
            Arg::Text(&group.pairing_id),
            Arg::Text(&group.run_id),
            Arg::Int(group.deleted),
            Arg::MaybeText(group.unchecked.as_deref()),
            Arg::Int(now_ms()),
        ];
        let mut insert = self.tables().insert_into("groups", GROUP_COLUMNS, [args]);
        insert.or_nothing("pairing_id");
        self.execute(&insert).await
    }

    /// Writes another id and run of the server, unless somebody has changed the id, which was this
    /// one, or none before there was a row; and why tables and server may differ, unless a reason
    /// is there. What was counted stays.
    pub async fn pair_group(
        &self,
        stream: &str,
        name: &str,
        id: Option<&str>,
        group: &Group,
    ) -> Result<(), Fault> {
        let Some(id) = id else { return self.add_group(stream, name, group).await };
        let sql = format!(
            "UPDATE {{groups}} SET pairing_id = ?, run_id = ?, unchecked = COALESCE(unchecked, ?), \
             {LATER} WHERE stream = ? AND group_name = ? AND pairing_id = ?"
        );
        let now_ms = Arg::Int(now_ms());
        let args = [
            Arg::Text(&group.pairing_id),
            Arg::Text(&group.run_id),
            Arg::MaybeText(group.unchecked.as_deref()),
            now_ms,
            now_ms,
            Arg::Text(stream),
            Arg::Text(name),
            Arg::Text(id),
        ];
        self.execute(&self.tables().sql(&sql, args)).await
    }

    /// Tables and server may differ from now on, for this reason; so many entries are gone.
    pub async fn uncheck(
        &self,
        stream: &str,
        group: &str,
        why: &str,
        deleted: u64,
    ) -> Result<(), Fault> {
        let deleted = i64::try_from(deleted).unwrap_or(i64::MAX);
        let sql = format!(
            "UPDATE {{groups}} SET deleted = deleted + ?, unchecked = ?, {LATER} WHERE stream = ? \
             AND group_name = ?"
        );
        let now_ms = Arg::Int(now_ms());
        let args = [
            Arg::Int(deleted),
            Arg::Text(why),
            now_ms,
            now_ms,
            Arg::Text(stream),
            Arg::Text(group),
        ];
        self.execute(&self.tables().sql(&sql, args)).await
    }

    /// A check that began with this row has found that all agrees. False if the row was written
    /// meanwhile, and says again that they may differ.
    pub async fn checked(&self, stream: &str, name: &str, group: &Group) -> Result<bool, Fault> {
        let sql = "UPDATE {groups} SET unchecked = NULL, at_ms = at_ms + 1 WHERE stream = ? AND \
                   group_name = ? AND at_ms = ?";
        let args = [Arg::Text(stream), Arg::Text(name), Arg::Int(group.at_ms)];
        self.execute(&self.tables().sql(sql, args)).await?;
        Ok(self.group(stream, name).await?.is_some_and(|group| group.unchecked.is_none()))
    }

    /// How many orders have a conflict that nobody has resolved.
    pub async fn conflicts(&self) -> Result<u64, Fault> {
        let sql = "SELECT [COALESCE(SUM(conflicts), 0)] FROM {voucher_sales}";
        self.number(sql, &[]).await
    }

    /// The vouchers that have rows.
    pub async fn vouchers(&self) -> Result<BTreeSet<String>, Fault> {
        let sql = "SELECT DISTINCT voucher_id FROM {voucher_sales}";
        let found: Vec<[String; 1]> = self.read_texts(&self.tables().sql(sql, [])).await?;
        Ok(found.into_iter().flatten().collect())
    }

    pub(super) async fn number(&self, sql: &str, args: &[Arg<'_>]) -> Result<u64, Fault> {
        let statement = self.tables().sql(sql, args.iter().copied());
        let found: Vec<[String; 1]> = self.read_texts(&statement).await?;
        let number = found.first().and_then(|[number]| number.parse().ok());
        number.ok_or_else(|| Fault::Failed("a count is no number".to_owned()))
    }

    /// The events of the shop's statements that were run with rows of these tables, and that the
    /// file lacks.
    pub async fn missing_events(&self) -> Result<Vec<String>, Fault> {
        let mut open = self.begin_reading().await?;
        let known = self.remembered(&mut open).await?;
        open.commit().await?;
        self.note_events(&known);
        let events: BTreeSet<String> = self.shop().events().map(str::to_owned).collect();
        Ok(known.difference(&events).cloned().collect())
    }

    /// The events that the tables remember, each the name of a setting.
    async fn remembered(&self, open: &mut Open) -> Result<BTreeSet<String>, Fault> {
        let found: Vec<[String; 1]> =
            open.texts(&self.tables().sql("SELECT name FROM {settings}", [])).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The steps are committed, so the tables remember their events.
    pub(super) fn note_steps(&self, steps: &[Step]) {
        let run = steps.iter().map(|step| step.change).filter(|change| self.shop().has(*change));
        let run: BTreeSet<String> = run.map(|change| change.word().to_owned()).collect();
        self.note_events(&run);
    }

    /// Orders reach an event that the file has no statements for: says so once.
    fn warn_of_missing(&self, change: Change) {
        static SAID: Mutex<BTreeSet<Change>> = Mutex::new(BTreeSet::new());
        let is_new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(change);
        if is_new {
            warn!(
                "--statements has no {}: orders come to it, and the shop's tables are not changed \
                 then",
                change.word()
            );
        }
    }

    /// Remembers the events of the statements that are run with these steps. Refuses steps that the
    /// file has no statements for, and another worker's had.
    pub(super) async fn remember(&self, open: &mut Open, steps: &[Step]) -> Result<(), Fault> {
        let all: BTreeSet<Change> = steps.iter().map(|step| step.change).collect();
        let (run, lacks): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|change| self.shop().has(*change));
        if !lacks.is_empty() {
            let known = self.remembered(open).await?;
            if let Some(change) = lacks.iter().find(|change| known.contains(change.word())) {
                return Err(Fault::Lacks(lacking(self.shop().is_empty(), change.word())));
            }
            if !self.shop().is_empty() {
                lacks.iter().for_each(|change| self.warn_of_missing(*change));
            }
        }
        let new = self.new_events(run.into_iter().map(Change::word));
        if new.is_empty() {
            return Ok(());
        }
        let rows = new.into_iter().map(|event| vec![Arg::Text(event), Arg::Text("run")]);
        let mut insert = self.tables().insert_into("settings", "name, value", rows);
        insert.or_nothing("name");
        open.execute(&insert).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::Options;

    fn store_in(dir: &tempfile::TempDir) -> Store {
        let database = format!("sqlite:{}", dir.path().join("x.db").display());
        let options = Options::try_parse_from(["worker", "--database", &database]).unwrap();
        Store::new(&options.site, None, 1, true).unwrap()
    }

    /// What has happened since a check began is not what it has looked at, even if the reason is
    /// the same.
    #[tokio::test]
    async fn a_check_ends_only_the_mark_that_it_has_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_in(&dir);
        let new = Group { pairing_id: "x".to_owned(), ..Group::default() };
        store.pair_group("orders", "g", None, &new).await.unwrap();
        let marked = async |why: &str| {
            store.uncheck("orders", "g", why, 0).await.unwrap();
            store.group("orders", "g").await.unwrap().unwrap()
        };
        let looked_at = marked("an entry could not be read").await;
        for why in ["an entry could not be read", "the stream or its group was missing"] {
            let found = marked(why).await;
            assert!(!store.checked("orders", "g", &looked_at).await.unwrap());
            assert_eq!(store.group("orders", "g").await.unwrap(), Some(found));
        }
        let last = store.group("orders", "g").await.unwrap().unwrap();
        assert!(store.checked("orders", "g", &last).await.unwrap());
        assert_eq!(store.group("orders", "g").await.unwrap().unwrap().unchecked, None);
        store.close().await;
    }

    /// A worker that has read the row before does not know of them.
    #[tokio::test]
    async fn a_new_run_of_the_server_keeps_what_others_count() {
        let dir = tempfile::tempdir().unwrap();
        let store = store_in(&dir);
        let read = Group { pairing_id: "x".to_owned(), ..Group::default() };
        store.pair_group("orders", "g", None, &read).await.unwrap();
        store.uncheck("orders", "g", "entries were deleted unread", 3).await.unwrap();
        let unchecked = Some("the server was started again".to_owned());
        let run = Group { run_id: "r".to_owned(), unchecked, ..read.clone() };
        store.pair_group("orders", "g", Some("x"), &run).await.unwrap();
        // Another one has paired them meanwhile.
        store.pair_group("orders", "g", Some("y"), &read).await.unwrap();
        store.pair_group("orders", "g", None, &read).await.unwrap();
        let Group { run_id, deleted, unchecked, .. } =
            store.group("orders", "g").await.unwrap().unwrap();
        assert_eq!((&*run_id, deleted), ("r", 3));
        assert_eq!(unchecked.as_deref(), Some("entries were deleted unread"));
        store.close().await;
    }
}
