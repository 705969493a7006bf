//! The worker's own tables, and the columns of those that have no file of their own.

use super::orders::{ORDER_COLUMNS, PAYMENT_COLUMNS};
use crate::sql::Tables;

pub const CHANGE_COLUMNS: &str =
    "voucher_id, sale_id, order_id, user_id, entry, says, units, kept, ref, paid, how, at_ms";
pub const GROUP_COLUMNS: &str = "stream, group_name, pairing_id, run_id, deleted, unchecked, at_ms";
pub const REFUND_COLUMNS: &str =
    "ref, voucher_id, sale_id, order_id, user_id, first_unit, last_unit, units, why, at_ms";
pub const RULING_COLUMNS: &str =
    "voucher_id, sale_id, order_id, user_id, number, ruled_by, ruling, at_ms";
pub const SALES_COLUMNS: &str = "voucher_id, sale_id, units, conflicts, is_closed, updated_ms";

pub(super) const TABLES: [&str; 8] = [
    "orders", "payments", "payment_refs", "refunds", "order_changes", "rulings", "voucher_sales",
    "groups",
];

/// Statements that read no row, and fail if the tables are not the worker's.
pub(super) fn probes(tables: &Tables) -> [String; 8] {
    let columns: [&str; TABLES.len()] = [
        ORDER_COLUMNS, PAYMENT_COLUMNS, "ref, beyond", REFUND_COLUMNS, CHANGE_COLUMNS,
        RULING_COLUMNS, SALES_COLUMNS, GROUP_COLUMNS,
    ];
    std::array::from_fn(|at| {
        format!("SELECT {} FROM {} WHERE 1 = 0", columns[at], tables.named(TABLES[at]))
    })
}
