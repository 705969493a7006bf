//! The database: one transaction reads the rows, plans the changes and writes them.

mod changes;
mod database;
mod engine;
mod fault;
mod look;
mod lost;
mod marks;
mod migrate;
mod open;
mod refunds;
mod shop;
pub mod statement;
mod transaction;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::timeout;

use crate::batch::{
    Answers, Batch, Change, Holders, Outcome, Plan, Row, Sole, Steps, TooMany, plan,
};
use crate::book::{Asker, Gone, ask};
use crate::order_events::{Event, OrderKey, Which};
pub use changes::{Shared, Use};
pub use database::Store;
use database::{ANSWER_WAIT, silent};
pub use fault::Fault;
pub use look::{Ledger, NEEDS_STATEMENTS, Settled, Sum};
pub use marks::Closed;
pub use refunds::{MoneyLine, Told, told_of};
use statement::{ROWS_MAX, Written};
use transaction::Open;

/// Whether to look up in advance which users are in the unique index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// No: nearly all batches have no such user.
    Usual,
    Full,
}

/// A batch that is committed: one outcome per event, the rows that are disputed from now on, and
/// those that no longer are.
#[derive(Debug, Default)]
pub struct Applied {
    pub outcomes: Vec<Outcome>,
    pub disputes: Vec<Row>,
    pub healed: Vec<Row>,
    /// An order was written as held orders are, with the same statements.
    pub has_held: bool,
}

impl Store {
    /// Applies a batch, all or nothing.
    pub async fn apply(
        &self,
        events: &[(Event, Sole)],
        care: Care,
        asker: &mut Asker<'_>,
    ) -> Result<Applied, Fault> {
        if events.is_empty() {
            return Ok(Applied::default());
        }
        self.open().await?;
        // Nearly always, all entries are still this worker's.
        let mut gone = Gone::new();
        loop {
            let tried = self.apply_to(events, care, asker, &gone);
            match timeout(ANSWER_WAIT, tried).await.unwrap_or_else(|_| Err(silent()))? {
                Ok(applied) => return Ok(applied),
                Err(more) => gone.extend(more),
            }
        }
    }

    /// Applies a batch without the entries that are gone. Nothing is committed if more are.
    async fn apply_to(
        &self,
        events: &[(Event, Sole)],
        care: Care,
        asker: &mut Asker<'_>,
        gone: &Gone,
    ) -> Result<Result<Applied, Gone>, Fault> {
        let mut open = self.begin().await?;
        let keys: BTreeSet<&OrderKey> = events.iter().map(|(event, _)| &event.key).collect();
        let keys: Vec<&OrderKey> = keys.into_iter().collect();
        // Both at once: what contradicts a row is asked for again below.
        let (rows, answers) =
            tokio::join!(self.rows(&mut open, &keys), ask(asker.source(), keys.iter().copied()));
        let (rows, mut answers) = (rows?, answers?);
        let holders = match care {
            Care::Usual => Holders::new(),
            Care::Full => self.holders(&mut open, events).await?,
        };
        if let Some((event, _)) = events.first() {
            asker.replicated(event).await?;
        }
        let refunded = self.refunded(&mut open, events, &rows).await?;
        let is_gone = |event: &Event| gone.contains(&(event.which(), event.id));
        let left_out: Vec<_> =
            events.iter().map(|(event, _)| is_gone(event).then_some(Outcome::Gone)).collect();
        let wants = if self.shop().is_empty() { Steps::Unwanted } else { Steps::Wanted };
        let plan = |answers: &Answers| {
            let (rows, holders, refunded) = (&rows, &holders, &refunded);
            let batch = Batch { events, rows, answers, holders, refunded, wants };
            let many = |TooMany| Fault::Failed("the units sold are too many".to_owned());
            plan(&batch, left_out.clone()).map_err(many)
        };
        let mut planned = plan(&answers)?;
        if !planned.disputes.is_empty() {
            // Now that the rows are locked, no other worker writes what the answer is too old for.
            let disputed = planned.disputes.iter().map(|row| &row.key);
            answers.extend(ask(asker.source(), disputed).await?);
            planned = plan(&answers)?;
        }
        let all = events.iter().map(|(event, _)| event);
        let written = async {
            self.write_rows(&mut open, &planned).await?;
            self.withhold(&mut open, &mut planned).await?;
            self.write_records(&mut open, &planned).await
        };
        let (written, now_gone) = tokio::join!(written, asker.gone(all));
        let (mut now_gone, unknown) = now_gone?;
        // All others are in hand, and written.
        now_gone.extend(self.kept(&mut open, asker.source(), unknown).await?);
        if !now_gone.is_subset(gone) {
            return Ok(Err(now_gone));
        }
        written?;
        self.tell_shop(&mut open, &planned).await?;
        open.commit().await?;
        let has_held = match wants {
            Steps::Wanted => planned.steps.iter().any(|step| step.change == Change::Held),
            Steps::Unwanted => planned.inserts.iter().any(|row| row.known.state.is_live()),
        };
        let Plan { outcomes, disputes, healed, .. } = planned;
        Ok(Ok(Applied { outcomes, disputes, healed, has_held }))
    }

    /// The rows of some orders, locked until the transaction ends.
    async fn rows(
        &self,
        open: &mut Open,
        keys: &[&OrderKey],
    ) -> Result<HashMap<OrderKey, Row>, Fault> {
        let mut rows = HashMap::new();
        for keys in keys.chunks(ROWS_MAX) {
            let found = open.rows(&self.tables().select_rows(keys.iter().copied())).await?;
            rows.extend(found.into_iter().map(|row| (row.key.clone(), row)));
        }
        Ok(rows)
    }

    async fn holders(&self, open: &mut Open, events: &[(Event, Sole)]) -> Result<Holders, Fault> {
        let users: HashSet<(&str, &str, &str)> = events
            .iter()
            .filter(|(event, sole)| event.which() == Which::Orders && *sole == Sole::Yes)
            .map(|(Event { key, user, .. }, _)| (&*key.voucher, &*key.sale, &**user))
            .collect();
        let users: Vec<_> = users.into_iter().collect();
        let mut holders = Holders::new();
        for users in users.chunks(ROWS_MAX) {
            let found = open.texts(&self.tables().select_holders(users.iter().copied())).await?;
            holders.extend(
                found
                    .into_iter()
                    .map(|[voucher, sale, user, order]| ((voucher, sale, user), order)),
            );
        }
        Ok(holders)
    }

    async fn write_rows(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        let (tables, now_ms) = (self.tables(), now_ms());
        for rows in written_rows(&plan.releases).chunks(ROWS_MAX) {
            open.execute(&tables.change(rows, now_ms)).await?;
        }
        let (one_by_one, together): (Vec<_>, Vec<_>) =
            written_rows(&plan.updates).into_iter().partition(|row| tables.is_ambiguous(row));
        for row in &one_by_one {
            open.execute(&tables.update(row, now_ms)).await?;
        }
        for rows in together.chunks(ROWS_MAX) {
            open.execute(&tables.change(rows, now_ms)).await?;
        }
        for rows in written_rows(&plan.inserts).chunks(ROWS_MAX) {
            open.execute(&tables.insert(rows, now_ms)).await?;
        }
        Ok(())
    }

    async fn write_records(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        for records in plan.records.chunks(ROWS_MAX) {
            open.execute(&self.tables().changes(records, now_ms())).await?;
        }
        Ok(())
    }

    /// Runs the shop's statements, and adds to the sums. Workers wait for each other at the row of
    /// a voucher, so it is written last and locked briefly.
    async fn tell_shop(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        let with_statements = !self.shop().is_empty();
        let sales = self.tables().sales(&plan.sales, with_statements, now_ms());
        let sales = Some(&sales).filter(|_| !plan.sales.is_empty());
        self.shop().tell(open, &plan.steps, sales).await
    }
}

fn written_rows(rows: &[Row]) -> Vec<Written<'_>> {
    rows.iter().map(Written::new).collect()
}

/// Unix milliseconds.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
