//! What the drill counts at its end, from the answers that the payment provider got.

use std::collections::BTreeMap;

use redis::Value;

use super::{Drill, Loss, SHOP_STOCK, VOUCHER};
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
        let of = |state, table| {
            let rest = format!("FROM seckill_{table} WHERE ref IS NOT NULL");
            let rows = self.shop.database.texts(["ref", "order_id", "units", state], &rest);
            let units = |units: String| units.parse::<i64>().expect("units");
            let rows = rows.into_iter().map(|[one, order, n, word]| (one, order, units(n), word));
            rows.collect::<Vec<_>>()
        };
        let (rows, lines) = (of("state", "orders"), of("to_state", "order_changes"));
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
