//! The table of changes, to which lines are only appended. Pure.

use super::statement::{Arg, Dialect, Statement, Tables};
use crate::batch::Record;
use crate::order_events::{Event, Kind};

const CHANGE_COLUMNS: &str = "voucher_id, sale_id, order_id, entry, to_state, at_ms, from_state, \
                              units, ref, said";

impl Event {
    /// Where it is from, for the changes.
    pub fn place(&self) -> String {
        let word = match self.kind {
            Kind::Lost => "lost",
            // No entry has such an id: a check has made the event.
            _ if self.kind == Kind::Look || self.id.ms == 0 => "check",
            _ => self.which().word(),
        };
        format!("{word} {}", self.id)
    }
}

impl Tables {
    pub fn order_changes(&self) -> String {
        format!("{}order_changes", self.prefix)
    }

    /// Reads no row, and fails if the table is not the worker's.
    pub fn probe_of_changes(&self) -> String {
        format!("SELECT {CHANGE_COLUMNS} FROM {} WHERE 1 = 0", self.order_changes())
    }

    /// Appends to the changes what is not there yet.
    pub fn changes<'a>(&self, records: &'a [Record], now_ms: i64) -> Statement<'a> {
        let mut statement = self.statement(&format!("INSERT INTO {} (", self.order_changes()));
        statement.push(CHANGE_COLUMNS).push(") VALUES ");
        statement.bind_rows(records.iter().map(|record| {
            vec![
                Arg::Text(&record.key.voucher),
                Arg::Text(&record.key.sale),
                Arg::Text(&record.key.order),
                Arg::Text(&record.entry),
                Arg::Text(&record.to),
                Arg::Int(now_ms),
                Arg::Text(record.from),
                Arg::Int(record.units),
                Arg::MaybeText(record.reference.as_deref()),
                Arg::Text(&record.said),
            ]
        }));
        statement.push(match self.dialect {
            Dialect::MySql => " ON DUPLICATE KEY UPDATE units = units",
            _ => " ON CONFLICT DO NOTHING",
        });
        statement
    }
}
