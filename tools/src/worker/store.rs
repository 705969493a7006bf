//! The database: one transaction reads the rows, plans the changes and writes them.

mod fault;
mod migrate;
mod open;
mod statement;
mod transaction;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::order_events::{Order, OrderKey};
use anyhow::{Result, ensure};
use tokio::sync::RwLock;
use tokio::time::timeout;
use tracing::info;

use crate::batch::{Event, Holders, Outcome, Plan, Row, Sole, Step, Steps, TooMany, plan};
use crate::options::Options;
use crate::statements::Statements;
use crate::statements::block::{Part, told};
pub use fault::Fault;
use open::{FileId, Place};
pub use statement::{Arg, Dialect};
use statement::{ROWS_MAX, Tables, Written};
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

pub struct Store {
    place: Place,
    connections: u32,
    tables: Tables,
    statements: Statements,
    /// Set once the database has refused the block of the statements but accepted them one by one.
    one_by_one: AtomicBool,
    migrates: bool,
    /// None until the schema is checked to be up to date.
    ready: RwLock<Option<Ready>>,
}

#[derive(Clone)]
struct Ready {
    pool: Pool,
    file: Option<FileId>,
}

/// The tables' contents for some vouchers.
#[derive(Debug, Default)]
pub struct Ledger {
    pub rows: Vec<Row>,
    /// The units sold, by voucher and sale.
    pub sums: BTreeMap<(String, String), i64>,
}

impl Store {
    /// A store that creates neither tables nor a file.
    pub fn to_look_at(options: &Options) -> Result<Self> {
        let store = Self { migrates: false, ..Self::new(options, 1)? };
        let is_there = store.place.dialect() != Dialect::Sqlite || store.place.file().is_some();
        ensure!(is_there, "--database: there is no such file");
        Ok(store)
    }

    /// The kind of database, as text for people.
    pub fn database(&self) -> &'static str {
        match self.place.dialect() {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgres => "PostgreSQL",
            Dialect::MySql => "MySQL",
        }
    }

    /// The rows and sums of some vouchers, in all of their sales.
    pub async fn rows_of(&self, vouchers: &[&str]) -> Result<Ledger, Fault> {
        let pool = self.pool().await?;
        let mut open = pool.begin().await?;
        let rows = open.rows(&self.tables.select_vouchers(vouchers)).await?;
        let texts = open.texts(&self.tables.select_sums(vouchers)).await?;
        let sums = texts
            .into_iter()
            .map(|[voucher, sale, units]| ((voucher, sale), units.parse().unwrap_or(0)))
            .collect();
        Ok(Ledger { rows, sums })
    }

    pub fn new(options: &Options, connections: u32) -> Result<Self> {
        let place = Place::parse(&options.database, options.database_password()?)?;
        let (dialect, prefix) = (place.dialect(), options.table_prefix.clone());
        let statements = match &options.statements {
            Some(path) => Statements::read(path, dialect)?,
            None => Statements::default(),
        };
        Ok(Self {
            place,
            connections,
            tables: Tables { dialect, prefix },
            statements,
            one_by_one: AtomicBool::new(false),
            migrates: !options.no_migrate,
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
            Fault::Wrong(_) => fault.about(&format!(
                "the tables {} and {} are not those of this worker (another --table-prefix?)",
                self.tables.orders(),
                self.tables.voucher_sales()
            )),
            fault => fault,
        };
        if self.migrates {
            self.place.migrate(&self.tables).await.map_err(others)?;
        }
        let mut open = pool.begin().await?;
        for probe in self.tables.probes() {
            open.run(&probe, &[]).await.map_err(|error| others(error.into()))?;
        }
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

    /// Applies a batch, all or nothing, and returns the outcome of each event.
    pub async fn apply(&self, events: &[Event], care: Care) -> Result<Vec<Outcome>, Fault> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let pool = self.pool().await?;
        let applied = timeout(ANSWER_WAIT, self.apply_to(&pool, events, care)).await;
        let applied = applied.unwrap_or_else(|_| Err(silent()));
        if let Err(Fault::Away(_) | Fault::Wrong(_)) = applied {
            self.forget().await;
        }
        applied
    }

    async fn apply_to(
        &self,
        pool: &Pool,
        events: &[Event],
        care: Care,
    ) -> Result<Vec<Outcome>, Fault> {
        let mut open = pool.begin().await?;
        let keys: Vec<&OrderKey> =
            events.iter().map(Event::key).collect::<BTreeSet<_>>().into_iter().collect();
        let mut rows: HashMap<OrderKey, Row> = HashMap::new();
        for keys in keys.chunks(ROWS_MAX) {
            let found = open.rows(&self.tables.select_rows(keys.iter().copied())).await?;
            rows.extend(found.into_iter().map(|row| (row.key.clone(), row)));
        }
        let holders = match care {
            Care::Usual => Holders::new(),
            Care::Full => self.holders(&mut open, events).await?,
        };
        let wants = if self.statements.is_empty() { Steps::Unwanted } else { Steps::Wanted };
        let plan = plan(events, &rows, &holders, wants)
            .map_err(|TooMany| Fault::Data("the units sold are too many".to_owned()))?;
        self.write(&mut open, &plan).await?;
        open.commit().await?;
        Ok(plan.outcomes)
    }

    async fn holders(&self, open: &mut Open, events: &[Event]) -> Result<Holders, Fault> {
        let users: HashSet<(&str, &str, &str)> = events
            .iter()
            .filter_map(|event| match event {
                Event::Order(Order { key, user, .. }, Sole::Yes) => {
                    Some((key.voucher.as_str(), key.sale.as_str(), user.as_str()))
                }
                _ => None,
            })
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

    async fn write(&self, open: &mut Open, plan: &Plan) -> Result<(), Fault> {
        let (tables, now_ms) = (&self.tables, now_ms());
        for rows in written_rows(&plan.releases).chunks(ROWS_MAX) {
            open.execute(&tables.release(rows, now_ms)).await?;
        }
        for row in &written_rows(&plan.updates) {
            open.execute(&tables.update(row, now_ms)).await?;
        }
        for rows in written_rows(&plan.inserts).chunks(ROWS_MAX) {
            open.execute(&tables.insert(rows, now_ms)).await?;
        }
        self.tell_all(open, &plan.steps).await?;
        // Workers wait for each other at the row of a voucher, so it is written last and locked
        // briefly.
        if !plan.sales.is_empty() {
            open.execute(&tables.sales(&plan.sales, now_ms)).await?;
        }
        Ok(())
    }

    /// Runs the shop's statements for all changes: in one block if possible. If the block is
    /// refused, runs them one by one to find the one at fault.
    async fn tell_all(&self, open: &mut Open, steps: &[Step]) -> Result<(), Fault> {
        let mut refused = None;
        if let Some(block) = &self.statements.block
            && steps.len() > 1
            && !self.one_by_one.load(Ordering::Relaxed)
        {
            let told = told(steps);
            let told = [Arg::Text(&told)];
            let args = |part: &Part| if part.takes_steps { &told[..] } else { &[] };
            let statements: Vec<_> = block.iter().map(|part| (&*part.sql, args(part))).collect();
            match open.try_all(&statements).await?.map_err(Fault::from) {
                Ok(()) => return Ok(()),
                Err(fault @ Fault::Clash(_)) => return Err(fault),
                Err(fault) => refused = Some(fault),
            }
        }
        for step in steps {
            self.tell(open, step).await?;
        }
        // The data was not the cause, so the next block would be refused too.
        if let Some(Fault::Wrong(text) | Fault::Away(text)) = refused {
            self.one_by_one.store(true, Ordering::Relaxed);
            info!("the shop's statements are run one by one, which is slower: {text}");
        }
        Ok(())
    }

    /// Runs the shop's statements for a change.
    async fn tell(&self, open: &mut Open, step: &Step) -> Result<(), Fault> {
        for statement in self.statements.of(step.change) {
            let changed = open.run(&statement.sql, &statement.args(step)).await;
            let about = format!("--statements, {}", statement.place);
            let changed = changed.map_err(|error| Fault::from(error).about(&about))?;
            if changed == 0 && !statement.may_change_nothing {
                return Err(Fault::Unchanged(format!("{about}, changed no row")));
            }
        }
        Ok(())
    }
}

fn silent() -> Fault {
    Fault::Away(format!("no answer in {} s", ANSWER_WAIT.as_secs()))
}

fn written_rows(rows: &[Row]) -> Vec<Written<'_>> {
    rows.iter().map(Written::new).collect()
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
