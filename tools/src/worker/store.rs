//! The database: one transaction reads the rows, plans the changes and writes them.

mod changes;
mod engine;
mod fault;
mod look;
mod lost;
mod marks;
mod migrate;
mod open;
mod probe;
mod refunds;
mod shop;
pub mod statement;
mod texts;
mod transaction;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock as RwLockStd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use seckill_tools::address;
use tokio::sync::RwLock;
use tokio::time::timeout;
use tracing::info;

use crate::batch::{
    Answers, Batch, Change, Holders, Outcome, Plan, Row, Sole, Steps, TooMany, plan,
};
use crate::book::{Asker, Gone, ask};
use crate::options::Site;
use crate::order_events::{Event, OrderKey};
use crate::statements::Statements;
use crate::statements::text::KnownTable;
use crate::stream_entry::Which;
pub use changes::{Shared, Use};
pub use fault::Fault;
use fault::is_of_file;
pub use look::{Ledger, NEEDS_STATEMENTS, Settled, Sum};
pub use marks::Closed;
use open::{FileId, Place, make_file};
pub use refunds::{MoneyLine, Told};
use statement::{Dialect, ROWS_MAX, Tables, Written};
use transaction::{Open, Pool};

/// A database that has not answered for this long counts as down.
const ANSWER_WAIT: Duration = Duration::from_secs(60);

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

pub struct Store {
    place: Place,
    /// The database for messages, without its password.
    name: String,
    connections: u32,
    tables: Tables,
    statements: Statements,
    /// Set once the database has refused the block of the statements but accepted them one by one.
    one_by_one: AtomicBool,
    /// Whether the database refuses values that a column can't store, as far as is known.
    is_strict: AtomicBool,
    /// The tables of the statements of which nothing is unknown.
    known: RwLockStd<Arc<[KnownTable]>>,
    /// Whether a statement, by its place, takes an argument, by its place, as a number.
    numbers: RwLockStd<HashMap<(String, usize), bool>>,
    /// Whether it may create and change tables.
    pub migrates: bool,
    /// None until the schema is checked to be up to date.
    ready: RwLock<Option<Ready>>,
}

#[derive(Clone)]
struct Ready {
    pool: Pool,
    file: Option<FileId>,
}

impl Store {
    /// A store that creates neither tables nor a file.
    pub fn to_look_at(site: &Site, statements: Option<&Path>) -> Result<Self> {
        let store = Self { migrates: false, ..Self::new(site, statements, 1)? };
        let is_there = store.place.dialect() != Dialect::Sqlite || store.place.file().is_some();
        ensure!(is_there, "--database: there is no such file");
        Ok(store)
    }

    /// The database for messages, without its password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of database, as text for people.
    pub fn database(&self) -> &'static str {
        match self.place.dialect() {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgres => "PostgreSQL",
            Dialect::MySql => "MySQL",
        }
    }

    pub fn new(site: &Site, statements: Option<&Path>, connections: u32) -> Result<Self> {
        let place = Place::parse(&site.database, site.database_password()?)?;
        let (dialect, prefix) = (place.dialect(), site.table_prefix.clone());
        let statements = match statements {
            Some(path) => Statements::read(path, dialect)?,
            None => Statements::default(),
        };
        Ok(Self {
            place,
            name: address::shown(&site.database),
            connections,
            tables: Tables { dialect, prefix },
            statements,
            one_by_one: AtomicBool::new(false),
            is_strict: AtomicBool::new(true),
            known: RwLockStd::default(),
            numbers: RwLockStd::default(),
            migrates: true,
            ready: RwLock::new(None),
        })
    }

    /// Connects and brings the schema up to date, if that has not been done.
    pub async fn open(&self) -> Result<(), Fault> {
        self.pool().await.map(|_| ())
    }

    async fn pool(&self) -> Result<Pool, Fault> {
        if let Some(ready) = self.ready.read().await.as_ref()
            && ready.file == self.place.file()
        {
            return Ok(ready.pool.clone());
        }
        let mut place = self.ready.write().await;
        if let Some(ready) = place.as_ref() {
            if ready.file == self.place.file() {
                return Ok(ready.pool.clone());
            }
            // The file was replaced: the open pool writes to a deleted one.
            let gone = place.take();
            tokio::spawn(async move {
                if let Some(gone) = gone {
                    gone.pool.close().await;
                }
            });
        }
        match make_file(&self.place) {
            Ok(true) => info!("--database: there is no such file, so a new one is made"),
            Ok(false) => {}
            Err(error) => {
                let text = format!("{}: {error}", self.name);
                let is_full = error.kind() == ErrorKind::StorageFull;
                return Err(if is_full { Fault::Failed(text) } else { Fault::Wrong(text) });
            }
        }
        let pool = self.place.pool(self.connections);
        match timeout(ANSWER_WAIT, self.look(&pool)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return Err(fault),
            Err(_) => return Err(silent()),
        }
        *place = Some(Ready { pool: pool.clone(), file: self.place.file() });
        Ok(pool)
    }

    /// Brings the schema up to date, and has the database check the statements that will be run.
    async fn look(&self, pool: &Pool) -> Result<(), Fault> {
        let others = |fault: Fault| match fault {
            Fault::Wrong(text) if is_of_file(&text) => Fault::Wrong(text).about(&self.name),
            Fault::Wrong(_) => fault.about(&format!(
                "the tables {} and {} are not those of this worker (another --table-prefix?)",
                self.tables.orders(),
                self.tables.voucher_sales()
            )),
            fault => fault,
        };
        self.place.meet_pooler().await?;
        if self.migrates {
            self.place.migrate(&self.tables).await.map_err(others)?;
        }
        let mut open = pool.begin().await?;
        let probes = self.tables.probes().into_iter().chain(self.tables.probes_of_marks());
        for probe in probes {
            open.run(&probe, &[]).await.map_err(|error| others(error.into()))?;
        }
        self.get_to_know(&mut open).await?;
        for statement in self.statements.all() {
            if let Err(error) = open.prepare(statement).await {
                return Err(Fault::from(error).about(&format!("--statements, {}", statement.place)));
            }
        }
        Ok(open.commit().await?)
    }

    /// Drops the connections: the next use connects and checks the schema again.
    async fn forget(&self) {
        if let Some(Ready { pool, .. }) = self.ready.write().await.take() {
            // Not awaited: a hanging connection would block the worker.
            tokio::spawn(async move { pool.close().await });
        }
    }

    pub async fn close(&self) {
        if let Some(Ready { pool, .. }) = self.ready.write().await.take() {
            pool.close().await;
        }
    }

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
        let pool = self.pool().await?;
        // Nearly always, all entries are still this worker's.
        let mut gone = Gone::new();
        loop {
            let tried = self.apply_to(&pool, events, care, asker, &gone);
            match timeout(ANSWER_WAIT, tried).await.unwrap_or_else(|_| Err(silent()))? {
                Ok(applied) => return Ok(applied),
                Err(more) => gone.extend(more),
            }
        }
    }

    /// Applies a batch without the entries that are gone. Nothing is committed if more are.
    async fn apply_to(
        &self,
        pool: &Pool,
        events: &[(Event, Sole)],
        care: Care,
        asker: &mut Asker<'_>,
        gone: &Gone,
    ) -> Result<Result<Applied, Gone>, Fault> {
        let mut open = pool.begin().await?;
        let keys: BTreeSet<&OrderKey> = events.iter().map(|(event, _)| &event.key).collect();
        let keys: Vec<&OrderKey> = keys.into_iter().collect();
        // Both at once: what contradicts a row is asked for again below.
        let (rows, answers) =
            tokio::join!(self.rows(&mut open, &keys), ask(asker.source(), keys.iter().copied()));
        let (rows, mut answers) = (rows?, answers.map_err(Fault::Server)?);
        let holders = match care {
            Care::Usual => Holders::new(),
            Care::Full => self.holders(&mut open, events).await?,
        };
        if let Some((event, _)) = events.first() {
            asker.replicated(event).await.map_err(Fault::Server)?;
        }
        let refunded = self.refunded(&mut open, events, &rows).await?;
        let is_gone = |event: &Event| gone.contains(&(event.which(), event.id));
        let left_out: Vec<_> =
            events.iter().map(|(event, _)| is_gone(event).then_some(Outcome::Gone)).collect();
        let wants = if self.statements.is_empty() { Steps::Unwanted } else { Steps::Wanted };
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
            answers.extend(ask(asker.source(), disputed).await.map_err(Fault::Server)?);
            planned = plan(&answers)?;
        }
        if planned.has_payments {
            planned.records =
                self.without_known(&mut open, std::mem::take(&mut planned.records)).await?;
        }
        let all = events.iter().map(|(event, _)| event);
        let rows = self.write_rows(&mut open, &planned);
        let (written, now_gone) = tokio::join!(rows, asker.gone(all));
        let (mut now_gone, unknown) = now_gone.map_err(Fault::Server)?;
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
            let found = open.rows(&self.tables.select_rows(keys.iter().copied())).await?;
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
            let found = open.texts(&self.tables.select_holders(users.iter().copied())).await?;
            holders.extend(
                found
                    .into_iter()
                    .map(|[voucher, sale, user, order]| ((voucher, sale, user), order)),
            );
        }
        Ok(holders)
    }

    async fn write_rows(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        let (tables, now_ms) = (&self.tables, now_ms());
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
        for records in plan.records.chunks(ROWS_MAX) {
            open.execute(&tables.changes(records, now_ms)).await?;
        }
        Ok(())
    }
}

fn silent() -> Fault {
    Fault::Elsewhere(format!("no answer in {} s", ANSWER_WAIT.as_secs()))
}

fn written_rows(rows: &[Row]) -> Vec<Written<'_>> {
    rows.iter().map(Written::new).collect()
}

/// Unix milliseconds.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
