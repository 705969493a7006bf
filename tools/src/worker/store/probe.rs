//! Whether the database or a batch is at fault.

use std::time::Duration;

use domain::book::State;
use domain::projection::Known;
use tokio::time::timeout;

use super::{Fault, Store, silent};
use crate::batch::{Plan, Row};
use crate::order_events::OrderKey;

const PROBE_WAIT: Duration = Duration::from_secs(10);

impl Store {
    /// Whether the database writes orders, and commits anything at all: then a batch that failed is
    /// itself at fault. The order is nobody's and is undone; a constraint or a trigger may refuse
    /// it. What is committed is deleted in the same transaction.
    pub async fn probe(&self) -> Result<(), Fault> {
        let [voucher, sale, user] = [const { String::new() }; 3];
        let key = OrderKey { voucher, sale, order: format!("{:x}", fastrand::u128(..)) };
        let row = Row::new(key, user, Known::new(State::Sold, None, 1, None));
        let order = Plan { inserts: vec![row], ..Plan::default() };
        let probe = async || {
            let mut open = self.pool().await?.begin().await?;
            open.mark().await?;
            match self.write_rows(&mut open, &order).await {
                Ok(()) | Err(Fault::Refused(_)) => open.back().await?,
                Err(fault) => return Err(fault),
            }
            let (version, table) = (fastrand::i64(i64::MIN..0), self.tables.migrations());
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
}
