//! The database: rows are read, planned on and written in one transaction.

mod fault;
mod open;
mod statement;
mod transaction;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use domain::order_events::OrderKey;
use tokio::sync::RwLock;
use tokio::time::timeout;

use crate::batch::{Event, Holders, Outcome, Plan, Row, Sole, TooMany, plan};
pub use fault::Fault;
use open::{FileId, Place};
use statement::{ROWS_MAX, Written};
use transaction::{Open, Pool};

/// A database that has not answered for so long is taken for gone.
const ANSWER_WAIT: Duration = Duration::from_secs(60);

/// Whether to look in advance for users whom the unique index knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// No: nearly all batches have none.
    Usual,
    Full,
}

pub struct Store {
    place: Place,
    connections: u32,
    /// None until the schema is known to be up to date.
    ready: RwLock<Option<Ready>>,
}

#[derive(Clone)]
struct Ready {
    pool: Pool,
    file: Option<FileId>,
}

impl Store {
    pub fn new(url: &str, connections: u32) -> Result<Self> {
        Ok(Self { place: Place::parse(url)?, connections, ready: RwLock::new(None) })
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
            // The file is another one: what we would write to is gone.
            let gone = place.take();
            tokio::spawn(async move {
                if let Some(gone) = gone {
                    gone.pool.close().await;
                }
            });
        }
        match timeout(ANSWER_WAIT, self.place.migrate()).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return Err(fault),
            Err(_) => return Err(silent()),
        }
        let pool = self.place.pool(self.connections);
        *place = Some(Ready { pool: pool.clone(), file: self.place.file() });
        Ok(pool)
    }

    /// Connections are made anew, and the schema is looked at again.
    async fn forget(&self) {
        if let Some(Ready { pool, .. }) = self.ready.write().await.take() {
            // Not waited for: what hangs would hang us.
            tokio::spawn(async move { pool.close().await });
        }
    }

    pub async fn close(&self) {
        if let Some(Ready { pool, .. }) = self.ready.write().await.take() {
            pool.close().await;
        }
    }

    /// Applies a batch, all or nothing, and says what became of each event.
    pub async fn apply(&self, events: &[Event], care: Care) -> Result<Vec<Outcome>, Fault> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let pool = self.pool().await?;
        let applied = timeout(ANSWER_WAIT, apply(&pool, events, care)).await;
        let applied = applied.unwrap_or_else(|_| Err(silent()));
        if let Err(Fault::Away(_) | Fault::Wrong(_)) = applied {
            self.forget().await;
        }
        applied
    }
}

fn silent() -> Fault {
    Fault::Away(format!("no answer in {} s", ANSWER_WAIT.as_secs()))
}

async fn apply(pool: &Pool, events: &[Event], care: Care) -> Result<Vec<Outcome>, Fault> {
    let dialect = pool.dialect();
    let mut open = pool.begin().await?;
    let keys: Vec<&OrderKey> =
        events.iter().map(Event::key).collect::<BTreeSet<_>>().into_iter().collect();
    let mut rows: HashMap<OrderKey, Row> = HashMap::new();
    for keys in keys.chunks(ROWS_MAX) {
        let found = open.rows(&statement::select_rows(dialect, keys.iter().copied())).await?;
        rows.extend(found.into_iter().map(|row| (row.key.clone(), row)));
    }
    let holders = match care {
        Care::Usual => Holders::new(),
        Care::Full => holders(&mut open, pool, events).await?,
    };
    let plan = plan(events, &rows, &holders)
        .map_err(|TooMany| Fault::Data("the units sold are too many".to_owned()))?;
    write(&mut open, pool, &plan).await?;
    open.commit().await?;
    Ok(plan.outcomes)
}

async fn holders(open: &mut Open, pool: &Pool, events: &[Event]) -> Result<Holders, Fault> {
    let users: HashSet<(&str, &str)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Order(order, Sole::Yes) => {
                Some((order.key.voucher.as_str(), order.user.as_str()))
            }
            _ => None,
        })
        .collect();
    let users: Vec<_> = users.into_iter().collect();
    let mut holders = Holders::new();
    for users in users.chunks(ROWS_MAX) {
        let statement = statement::select_holders(pool.dialect(), users.iter().copied());
        let found = open.texts(&statement).await?;
        holders.extend(found.into_iter().map(|[voucher, user, order]| ((voucher, user), order)));
    }
    Ok(holders)
}

async fn write(open: &mut Open, pool: &Pool, plan: &Plan) -> Result<(), Fault> {
    let dialect = pool.dialect();
    let now_ms = now_ms();
    for rows in written_rows(&plan.releases).chunks(ROWS_MAX) {
        open.execute(&statement::release(dialect, rows, now_ms)).await?;
    }
    for row in &written_rows(&plan.updates) {
        open.execute(&statement::update(dialect, row, now_ms)).await?;
    }
    for rows in written_rows(&plan.inserts).chunks(ROWS_MAX) {
        open.execute(&statement::insert(dialect, rows, now_ms)).await?;
    }
    // The row of a voucher is what workers wait for each other at: last, and briefly.
    if !plan.sales.is_empty() {
        open.execute(&statement::sales(dialect, &plan.sales, now_ms)).await?;
    }
    Ok(())
}

fn written_rows(rows: &[Row]) -> Vec<Written<'_>> {
    rows.iter().map(Written::new).collect()
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
