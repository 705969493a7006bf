//! The database as a whole: it is opened when it is first needed, and again when it was lost or
//! replaced. What the worker reads and writes there begins here.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use domain::conflicts::Conflicts;
use seckill_tools::address;
use tokio::sync::RwLock;
use tokio::time::timeout;
use tracing::info;

use super::Fault;
use super::columns::{TABLES, probes};
use super::engine::without_transactions;
use super::fault::is_of_file;
use super::migrate::migrate;
use super::open::{FileId, Place, make_file};
use super::orders::{ORDER_COLUMNS, OrderRow};
use super::prepared::take_stale;
use super::shop::Shop;
use super::transaction::{Open, Pool, is_lent};
use crate::accounts::Order;
use crate::options::Site;
use crate::order_events::OrderKey;
use crate::sql::{Dialect, Statement, Tables};
use crate::statements::Statements;

/// A database that has not answered for this long counts as down.
pub const ANSWER_WAIT: Duration = Duration::from_secs(60);
const PROBE_WAIT: Duration = Duration::from_secs(10);

pub struct Store {
    place: Place,
    /// The database for messages, without its password.
    name: String,
    connections: u32,
    tables: Tables,
    shop: Shop,
    /// Whether it may create and change tables.
    migrates: bool,
    /// None until the schema is checked to be up to date.
    ready: RwLock<Option<Ready>>,
    /// The events of the shop's statements that the tables remember.
    events: Mutex<BTreeSet<String>>,
}

#[derive(Clone)]
struct Ready {
    pool: Pool,
    file: Option<FileId>,
}

impl Store {
    pub fn new(
        site: &Site,
        statements: Option<&Path>,
        connections: u32,
        migrates: bool,
    ) -> Result<Self> {
        let place = Place::parse(&site.database, site.database_password()?)?;
        let dialect = place.dialect();
        let statements = match statements {
            Some(path) => Statements::read(path, dialect)?,
            None => Statements::default(),
        };
        Ok(Self {
            place,
            name: address::shown(&site.database),
            connections,
            tables: Tables::new(dialect, &site.table_prefix),
            shop: Shop::new(dialect, statements),
            migrates,
            ready: RwLock::new(None),
            events: Mutex::default(),
        })
    }

    /// A store that creates neither tables nor a file.
    pub fn to_look_at(site: &Site, statements: Option<&Path>) -> Result<Self> {
        let store = Self::new(site, statements, 1, false)?;
        let is_there = store.place.dialect() != Dialect::Sqlite || store.place.file().is_some();
        ensure!(is_there, "--database {}: there is no such file", store.name);
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

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn shop(&self) -> &Shop {
        &self.shop
    }

    /// The tables remember these events.
    pub(super) fn note_events(&self, known: &BTreeSet<String>) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.extend(known.iter().cloned());
    }

    /// Those of these events that the tables may not remember yet.
    pub(super) fn new_events<'e>(&self, run: impl Iterator<Item = &'e str>) -> Vec<&'e str> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        run.filter(|event| !events.contains(*event)).collect()
    }

    /// Connects and brings the schema up to date, if that has not been done.
    pub async fn open(&self) -> Result<(), Fault> {
        self.pool().await.map(|_| ())
    }

    pub(super) async fn pool(&self) -> Result<Pool, Fault> {
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
            self.events.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let gone = place.take();
            tokio::spawn(async move {
                if let Some(gone) = gone {
                    gone.pool.close().await;
                }
            });
        }
        match make_file(&self.place) {
            Ok(true) => {
                info!("--database {}: there is no such file, so a new one is made", self.name)
            }
            Ok(false) => {}
            Err(error) => {
                let text = format!("{}: {error}", self.name);
                let is_full = error.kind() == ErrorKind::StorageFull;
                return Err(if is_full { Fault::Failed(text) } else { Fault::Wrong(text) });
            }
        }
        let pool = timeout(ANSWER_WAIT, self.look()).await.unwrap_or_else(|_| Err(silent()))?;
        *place = Some(Ready { pool: pool.clone(), file: self.place.file() });
        Ok(pool)
    }

    /// Brings the schema up to date, and has the database check the statements that will be run.
    async fn look(&self) -> Result<Pool, Fault> {
        let of_file = |fault: Fault| match fault {
            Fault::Wrong(text) if is_of_file(&text) => Fault::Wrong(text).about(&self.name),
            fault => fault,
        };
        let others = |fault: Fault| match fault {
            Fault::Wrong(ref text) if !is_of_file(text) => fault.about(&format!(
                "the tables {} and {} are not those of this worker (another --table-prefix?)",
                self.tables.named("orders"),
                self.tables.named("voucher_sales")
            )),
            fault => of_file(fault),
        };
        self.place.meet_pooler().await?;
        let mut pool = self.place.pool(self.connections);
        let mut open = self.first_of(&mut pool).await.map_err(of_file)?;
        if self.migrates {
            migrate(&mut open, &self.tables).await.map_err(others)?;
            open.commit().await?;
            open = self.first_of(&mut pool).await?;
        }
        for probe in probes(&self.tables) {
            open.run(&probe, &[]).await.map_err(|error| others(error.into()))?;
        }
        self.look_at_engines(&mut open).await?;
        self.shop.meet(&mut open).await?;
        open.commit().await?;
        Ok(pool)
    }

    /// A transaction of a new pool, which is made anew if it lends connections to others, too.
    async fn first_of(&self, pool: &mut Pool) -> Result<Open, Fault> {
        match pool.begin().await {
            Err(error) if is_lent(&error) => {
                *pool = self.place.pool(self.connections);
                Ok(pool.begin().await?)
            }
            begun => Ok(begun?),
        }
    }

    /// An error if a table of the worker's own would keep what is undone.
    async fn look_at_engines(&self, open: &mut Open) -> Result<(), Fault> {
        for [table, engine] in without_transactions(open).await? {
            if TABLES.iter().any(|name| self.tables.named(name).eq_ignore_ascii_case(&table)) {
                return Err(Fault::Wrong(format!(
                    "table {table} has no transactions ({engine}), so nothing can be undone: \
                     ALTER TABLE {table} ENGINE = InnoDB"
                )));
            }
        }
        Ok(())
    }

    /// Whether the database writes orders, and commits anything at all: then a batch that failed is
    /// itself at fault. The order is nobody's and is undone; a constraint or a trigger may refuse
    /// it. What is committed is deleted in the same transaction.
    pub async fn probe(&self) -> Result<(), Fault> {
        let [voucher, sale, user] = [const { String::new() }; 3];
        let key = OrderKey { voucher, sale, order: format!("{:x}", fastrand::u128(..)), user };
        let order = Order::new(&key);
        let view = order.view(Conflicts::NONE);
        let row = OrderRow::new(&key, &order, &view);
        let insert = self.tables.insert_into("orders", ORDER_COLUMNS, [row.args(1)]);
        let probe = async || {
            let mut open = self.begin().await?;
            open.mark().await?;
            match open.execute(&insert).await.map_err(Fault::from) {
                Ok(_) | Err(Fault::Refused(_)) => open.back().await?,
                Err(fault) => return Err(fault),
            }
            let (version, table) = (fastrand::i64(i64::MIN..0), self.tables.named("migrations"));
            open.run(&format!("INSERT INTO {table} (version) VALUES ({version})"), &[]).await?;
            open.run(&format!("DELETE FROM {table} WHERE version = {version}"), &[]).await?;
            Ok(open.commit().await?)
        };
        let within = async || timeout(PROBE_WAIT, probe()).await.unwrap_or_else(|_| Err(silent()));
        if within().await.is_ok() {
            return Ok(());
        }
        // The batch may have left its connection in a state that nobody can use.
        self.forget().await;
        let probed = within().await;
        if probed.is_err() {
            self.forget().await;
        }
        probed
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

    pub(super) async fn begin(&self) -> Result<Open, Fault> {
        self.begin_by(Pool::begin).await
    }

    /// A transaction that only reads, and takes no lock of writers.
    pub(super) async fn begin_reading(&self) -> Result<Open, Fault> {
        self.begin_by(Pool::begin_reading).await
    }

    async fn begin_by(
        &self,
        begin: impl AsyncFn(&Pool) -> sqlx::Result<Open>,
    ) -> Result<Open, Fault> {
        if take_stale() {
            self.forget().await;
        }
        // Nothing keeps this pool while another connection is waited for: what could not begin is
        // an open transaction for the pooler, and its connection ends with the pool.
        let begun = begin(&self.pool().await?).await;
        match begun {
            Err(error) if is_lent(&error) => {
                self.forget().await;
                Ok(begin(&self.pool().await?).await?)
            }
            begun => Ok(begun?),
        }
    }

    pub(super) async fn execute(&self, statement: &Statement<'_>) -> Result<(), Fault> {
        let mut open = self.begin().await?;
        open.execute(statement).await?;
        Ok(open.commit().await?)
    }

    pub(super) async fn read_texts<const N: usize>(
        &self,
        statement: &Statement<'_>,
    ) -> Result<Vec<[String; N]>, Fault> {
        let mut open = self.begin_reading().await?;
        let texts = open.texts(statement).await?;
        open.commit().await?;
        Ok(texts)
    }
}

pub fn silent() -> Fault {
    Fault::Elsewhere(format!("no answer in {} s", ANSWER_WAIT.as_secs()))
}
