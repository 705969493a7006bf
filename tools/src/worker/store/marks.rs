//! The marks that rows have in common with servers, and the sales that checks have closed.

use super::statement::{Arg, Statement, Tables};
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
        let mut found = self.read_texts::<1>(&self.tables().select_mark(stream, group)).await?;
        Ok(found.pop().map(|[mark]| mark))
    }

    /// Writes the mark of a group's stream, instead of the one that is there.
    pub async fn set_mark(&self, stream: &str, group: &str, mark: &str) -> Result<(), Fault> {
        self.execute(&self.tables().set_mark(stream, group, mark, now_ms())).await
    }

    /// The sales whose sums changed last, each as the key of an order without an id.
    pub async fn last_sales(&self, most: u32) -> Result<Vec<OrderKey>, Fault> {
        let found = self.read_texts(&self.tables().select_last_sales(most)).await?;
        let key = |[voucher, sale]: [String; 2]| OrderKey { voucher, sale, order: String::new() };
        Ok(found.into_iter().map(key).collect())
    }

    pub async fn closed(&self, vouchers: &[&str]) -> Result<Vec<Closed>, Fault> {
        let found = self.read_texts(&self.tables().select_closed(vouchers)).await?;
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
        self.execute(&self.tables().close_sale(closed, now_ms())).await
    }
}

impl Tables {
    pub fn marks(&self) -> String {
        self.named("marks")
    }

    pub fn closed_sales(&self) -> String {
        self.named("closed_sales")
    }

    fn select_mark<'a>(&self, stream: &'a str, group: &'a str) -> Statement<'a> {
        let mut statement =
            self.statement(&format!("SELECT mark FROM {} WHERE stream = ", self.marks()));
        statement.bind(Arg::Text(stream)).push(" AND group_name = ").bind(Arg::Text(group));
        statement
    }

    fn set_mark<'a>(
        &self,
        stream: &'a str,
        group: &'a str,
        mark: &'a str,
        now_ms: i64,
    ) -> Statement<'a> {
        let args = vec![Arg::Text(stream), Arg::Text(group), Arg::Text(mark), Arg::Int(now_ms)];
        self.replace(&self.marks(), MARK_COLUMNS, 2, args)
    }

    fn select_last_sales<'a>(&self, most: u32) -> Statement<'a> {
        let table = self.voucher_sales();
        self.statement(&format!(
            "SELECT voucher_id, sale_id FROM {table} WHERE sale_id <> '' ORDER BY updated_ms DESC \
             LIMIT {most}"
        ))
    }

    fn select_closed<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let (units, orders) = (self.as_text("units"), self.as_text("orders"));
        let columns = format!("voucher_id, sale_id, {units}, {orders}, digest");
        self.of_vouchers(&columns, &self.closed_sales(), vouchers)
    }

    fn close_sale<'a>(&self, closed: &'a Closed, now_ms: i64) -> Statement<'a> {
        let Closed { voucher, sale, units, orders, digest } = closed;
        let [voucher, sale, digest] = [voucher, sale, digest].map(|text| Arg::Text(text));
        let args =
            vec![voucher, sale, Arg::Int(*units), Arg::Int(*orders), digest, Arg::Int(now_ms)];
        self.replace(&self.closed_sales(), CLOSED_COLUMNS, 2, args)
    }
}
