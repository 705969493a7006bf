//! What the drill counts at its end, from the answers that the payment provider got.

use std::collections::BTreeMap;

use sqlx::Row as _;

use redis::Value;

use super::{Drill, Loss, SHOP_STOCK, VOUCHER};
use crate::databases::from_hex;
use crate::shop::pairs;

impl Drill {
    /// The shop's tables are as the rows; no entry waits in the group, and a held order is one that
    /// the server ends at its deadline.
    pub fn nothing_is_stuck(&self) {
        self.shop.check_shop(&[(7, SHOP_STOCK)]);
        assert!(self.shop.is_drained(), "entries wait");
        for ((_, order), row) in self.shop.rows() {
            let held = self.shop.run(&format!("SECKILL.ORDER {VOUCHER} {order}"));
            let is_held = match held {
                Value::Array(_) => pairs(held)["state"] == "held",
                _ => false,
            };
            assert!(row.state != "held" || is_held, "{order} is held for ever: {row:?}");
        }
    }

    /// What rows keep of a payment, and what lines refund of it; a whole payment counts as all.
    pub fn count(&self, loss: Loss, text: &str) {
        let kind = self.shop.database.kind;
        let [reference, order] = ["ref", "order_id"].map(|column| kind.hex(column));
        let units = kind.integer("units");
        let of = |query: &str| -> Vec<(String, String, i64, String)> {
            let rows = self.shop.database.rows(query);
            let text = |row: &sqlx::any::AnyRow, at| from_hex(&row.get::<String, _>(at));
            let one = |row| (text(row, 0), text(row, 1), row.get::<i64, _>(2), text(row, 3));
            rows.iter().map(one).collect()
        };
        let state = kind.hex("state");
        let rows = of(&format!(
            "SELECT {reference}, {order}, {units}, {state} FROM seckill_orders \
             WHERE ref IS NOT NULL"
        ));
        let to = kind.hex("to_state");
        let lines = of(&format!(
            "SELECT {reference}, {order}, {units}, {to} FROM seckill_order_changes \
             WHERE ref IS NOT NULL"
        ));
        for (reference, paid) in &self.payments {
            let its = rows.iter().filter(|row| row.0 == *reference && row.3 == "sold");
            let kept: i64 = its.map(|row| row.2).sum();
            let mine = || lines.iter().filter(|line| line.0 == *reference);
            let parts = ["reduced", "cancelled", "expired", "rejected"];
            let refunded: i64 =
                mine().filter(|line| parts.contains(&&*line.3)).map(|line| line.2).sum();
            let is_denied = mine().any(|line| line.3 == "not refunded");
            let is_whole = !is_denied && mine().any(|line| line.3 == "late" || line.3 == "second");
            let lines = self.shop.changes(&paid.order).join(", ");
            let about = format!(
                "{loss:?} {reference} {paid:?}: kept {kept}, refunded {refunded}; {lines}\n{text}"
            );
            assert!(!is_whole || kept == 0, "goods and money: {about}");
            assert!(!is_whole || refunded == 0, "refunded twice: {about}");
            let is_in_rows = rows.iter().any(|row| row.0 == *reference);
            if let Some(units) = paid.units.filter(|_| is_in_rows && !is_whole) {
                // What neither server nor rows know of a payment, the provider alone does.
                let again = paid.again.filter(|_| !self.known.contains(reference));
                assert!([Some(units), again].contains(&Some(kept + refunded)), "{about}");
            }
        }
        let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.3 == "sold") {
            *kept.entry(&row.1).or_default() += 1;
        }
        assert!(kept.values().all(|count| *count == 1), "{loss:?}: {kept:?}");
    }
}
