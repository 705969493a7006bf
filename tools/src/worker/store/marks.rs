//! The marks that rows have in common with servers, and the sales that checks have closed.

use super::statement::Arg;
use super::{Fault, Store, now_ms};
use crate::order_events::OrderKey;

pub const MARK_COLUMNS: &str = "stream, group_name, mark, at_ms";
pub const CLOSED_COLUMNS: &str = "voucher_id, sale_id, units, orders, digest, at_ms";

/// What the rows of a closed sale were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub voucher: String,
    pub sale: String,
    pub units: i64,
    pub orders: i64,
    pub digest: String,
}

impl Store {
    /// The mark of a group's stream in the rows, if there is one.
    pub async fn mark(&self, stream: &str, group: &str) -> Result<Option<String>, Fault> {
        let sql = "SELECT mark FROM {marks} WHERE stream = ? AND group_name = ?";
        let mark = self.tables().sql(sql, [stream, group].map(Arg::Text));
        Ok(self.read_texts::<1>(&mark).await?.pop().map(|[mark]| mark))
    }

    /// Writes the mark of a group's stream, instead of the one that is there.
    pub async fn set_mark(&self, stream: &str, group: &str, mark: &str) -> Result<(), Fault> {
        let args = vec![Arg::Text(stream), Arg::Text(group), Arg::Text(mark), Arg::Int(now_ms())];
        self.execute(&self.tables().replace("marks", MARK_COLUMNS, 2, args)).await
    }

    /// The sales whose sums changed last, each as the key of an order without an id.
    pub async fn last_sales(&self, most: u32) -> Result<Vec<OrderKey>, Fault> {
        let sql = format!(
            "SELECT voucher_id, sale_id FROM {{voucher_sales}} WHERE sale_id <> '' \
             ORDER BY updated_ms DESC LIMIT {most}"
        );
        let found = self.read_texts(&self.tables().sql(&sql, [])).await?;
        let key = |[voucher, sale]: [String; 2]| OrderKey { voucher, sale, order: String::new() };
        Ok(found.into_iter().map(key).collect())
    }

    pub async fn closed(&self, vouchers: &[&str]) -> Result<Vec<Closed>, Fault> {
        let columns = "voucher_id, sale_id, [units], [orders], digest";
        let closed = self.tables().of_vouchers(columns, "closed_sales", vouchers);
        let found = self.read_texts(&closed).await?;
        let closed = |[voucher, sale, units, orders, digest]: [String; 5]| Closed {
            voucher,
            sale,
            units: units.parse().unwrap_or(-1),
            orders: orders.parse().unwrap_or(-1),
            digest,
        };
        Ok(found.into_iter().map(closed).collect())
    }

    pub async fn close_sale(&self, closed: &Closed) -> Result<(), Fault> {
        let Closed { voucher, sale, units, orders, digest } = closed;
        let [voucher, sale, digest] = [voucher, sale, digest].map(|text| Arg::Text(text));
        let numbers = [*units, *orders, now_ms()].map(Arg::Int);
        let args = vec![voucher, sale, numbers[0], numbers[1], digest, numbers[2]];
        self.execute(&self.tables().replace("closed_sales", CLOSED_COLUMNS, 2, args)).await
    }
}
